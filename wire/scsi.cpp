#include "wire/scsi.h"

#include <algorithm>

namespace wire {

namespace {

constexpr std::uint8_t any_action = 0xff;

// SPC-5, table D.1; SBC-4, table A.1. Of opcodes with service actions, the ones without a name of their own are last.
constexpr ScsiName scsi_commands[] = {
    {0x00, any_action, "TEST UNIT READY", "test_unit_ready"},
    {0x03, any_action, "REQUEST SENSE", "request_sense"},
    {0x04, any_action, "FORMAT UNIT", "format"},
    {0x07, any_action, "REASSIGN BLOCKS", "reassign_blocks"},
    {0x08, any_action, "READ(6)", "read"},
    {0x0a, any_action, "WRITE(6)", "write"},
    {0x12, any_action, "INQUIRY", "inquiry"},
    {0x15, any_action, "MODE SELECT(6)", "mode_select"},
    {0x16, any_action, "RESERVE(6)", "reserve"},
    {0x17, any_action, "RELEASE(6)", "release"},
    {0x1a, any_action, "MODE SENSE(6)", "mode_sense"},
    {0x1b, any_action, "START STOP UNIT", "start_stop"},
    {0x1c, any_action, "RECEIVE DIAGNOSTIC RESULTS", "receive_diagnostic"},
    {0x1d, any_action, "SEND DIAGNOSTIC", "send_diagnostic"},
    {0x1e, any_action, "PREVENT ALLOW MEDIUM REMOVAL", "prevent_removal"},
    {0x25, any_action, "READ CAPACITY(10)", "read_capacity"},
    {0x28, any_action, "READ(10)", "read"},
    {0x2a, any_action, "WRITE(10)", "write"},
    {0x2e, any_action, "WRITE AND VERIFY(10)", "write_verify"},
    {0x2f, any_action, "VERIFY(10)", "verify"},
    {0x34, any_action, "PRE-FETCH(10)", "prefetch"},
    {0x35, any_action, "SYNCHRONIZE CACHE(10)", "synchronize_cache"},
    {0x37, any_action, "READ DEFECT DATA(10)", "read_defect_data"},
    {0x3b, any_action, "WRITE BUFFER", "write_buffer"},
    {0x3c, any_action, "READ BUFFER", "read_buffer"},
    {0x41, any_action, "WRITE SAME(10)", "write_same"},
    {0x42, any_action, "UNMAP", "unmap"},
    {0x48, any_action, "SANITIZE", "sanitize"},
    {0x4c, any_action, "LOG SELECT", "log_select"},
    {0x4d, any_action, "LOG SENSE", "log_sense"},
    {0x55, any_action, "MODE SELECT(10)", "mode_select"},
    {0x56, any_action, "RESERVE(10)", "reserve"},
    {0x57, any_action, "RELEASE(10)", "release"},
    {0x5a, any_action, "MODE SENSE(10)", "mode_sense"},
    {0x5e, any_action, "PERSISTENT RESERVE IN", "persistent_reserve_in"},
    {0x5f, any_action, "PERSISTENT RESERVE OUT", "persistent_reserve_out"},
    {0x83, any_action, "EXTENDED COPY", "extended_copy"},
    {0x84, any_action, "RECEIVE COPY RESULTS", "receive_copy_results"},
    {0x85, any_action, "ATA PASS-THROUGH(16)", "ata_pass_through"},
    {0x88, any_action, "READ(16)", "read"},
    {0x89, any_action, "COMPARE AND WRITE", "compare_and_write"},
    {0x8a, any_action, "WRITE(16)", "write"},
    {0x8b, any_action, "ORWRITE(16)", "orwrite"},
    {0x8e, any_action, "WRITE AND VERIFY(16)", "write_verify"},
    {0x8f, any_action, "VERIFY(16)", "verify"},
    {0x90, any_action, "PRE-FETCH(16)", "prefetch"},
    {0x91, any_action, "SYNCHRONIZE CACHE(16)", "synchronize_cache"},
    {0x93, any_action, "WRITE SAME(16)", "write_same"},
    {0x9c, any_action, "WRITE ATOMIC(16)", "write_atomic"},
    {0xa0, any_action, "REPORT LUNS", "report_luns"},
    {0xa2, any_action, "SECURITY PROTOCOL IN", "security_protocol_in"},
    {0xa8, any_action, "READ(12)", "read"},
    {0xaa, any_action, "WRITE(12)", "write"},
    {0xae, any_action, "WRITE AND VERIFY(12)", "write_verify"},
    {0xaf, any_action, "VERIFY(12)", "verify"},
    {0xb5, any_action, "SECURITY PROTOCOL OUT", "security_protocol_out"},
    {0x7f, 0x09, "READ(32)", "read"},
    {0x7f, 0x0a, "VERIFY(32)", "verify"},
    {0x7f, 0x0b, "WRITE(32)", "write"},
    {0x7f, 0x0c, "WRITE AND VERIFY(32)", "write_verify"},
    {0x7f, 0x0d, "WRITE SAME(32)", "write_same"},
    {0x9e, 0x10, "READ CAPACITY(16)", "read_capacity"},
    {0x9e, 0x12, "GET LBA STATUS", "get_lba_status"},
    {0xa3, 0x05, "REPORT IDENTIFYING INFORMATION", "report_identifying_information"},
    {0xa3, 0x0a, "REPORT TARGET PORT GROUPS", "report_target_port_groups"},
    {0xa3, 0x0c, "REPORT SUPPORTED OPERATION CODES", "report_supported_opcodes"},
    {0xa3, 0x0d, "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS", "report_supported_task_management"},
    {0xa3, 0x0f, "REPORT TIMESTAMP", "report_timestamp"},
    {0xa4, 0x0a, "SET TARGET PORT GROUPS", "set_target_port_groups"},
    {0x7f, any_action, "VARIABLE LENGTH", "variable_length"},
    {0x9e, any_action, "SERVICE ACTION IN(16)", "service_action_in"},
    {0x9f, any_action, "SERVICE ACTION OUT(16)", "service_action_out"},
    {0xa3, any_action, "MAINTENANCE IN", "maintenance_in"},
    {0xa4, any_action, "MAINTENANCE OUT", "maintenance_out"},
};

// SPC-5, annex F.
constexpr ValueName sense_codes[] = {
    {0x0000, "No Additional Sense Information"},
    {0x0001, "Filemark Detected"},
    {0x0002, "End Of Partition/Medium Detected"},
    {0x0003, "Setmark Detected"},
    {0x0004, "Beginning Of Partition Detected"},
    {0x0005, "End Of Data Detected"},
    {0x0006, "I/O Process Terminated"},
    {0x0016, "Operation In Progress"},
    {0x0017, "Cleaning Requested"},
    {0x0018, "Erase Operation In Progress"},
    {0x0019, "Locate Operation In Progress"},
    {0x001a, "Rewind Operation In Progress"},
    {0x001b, "Set Capacity Operation In Progress"},
    {0x001c, "Verify operation in progress"},
    {0x0100, "No Index/Sector Signal"},
    {0x0200, "No Seek Complete"},
    {0x0300, "Peripheral Device Write Fault"},
    {0x0400, "Logical Unit Not Ready, Cause Not Reportable"},
    {0x0401, "Logical Unit Is In Process Of Becoming Ready"},
    {0x0402, "Logical Unit Not Ready, Initializing Cmd. Required"},
    {0x0403, "Logical Unit Not Ready, Manual Intervention Required"},
    {0x0404, "Logical Unit Not Ready, Format In Progress"},
    {0x0405, "Logical Unit Not Ready, Rebuild In Progress"},
    {0x0406, "Logical Unit Not Ready, Recalculation In Progress"},
    {0x0407, "Logical Unit Not Ready, Operation In Progress"},
    {0x0409, "Logical Unit Not Ready, Self-Test In Progress"},
    {0x040a, "Logical Unit Not Accessible, Asymmetric Access State Transition"},
    {0x040b, "Logical Unit Not Accessible, Target Port In Standby State"},
    {0x040c, "Logical Unit Not Accessible, Target Port In Unavailable State"},
    {0x0500, "Logical Unit Does Not Respond To Selection"},
    {0x0600, "No Reference Position Found"},
    {0x0700, "Multiple Peripheral Devices Selected"},
    {0x0800, "Logical Unit Communication Failure"},
    {0x0801, "Logical Unit Communication Time-Out"},
    {0x0802, "Logical Unit Communication Parity Error"},
    {0x0803, "Logical Unit Communication Crc Error (Ultra-Dma/32)"},
    {0x0804, "Unreachable Copy Target"},
    {0x0900, "Track Following Error"},
    {0x0904, "Head Select Fault"},
    {0x0a00, "Error Log Overflow"},
    {0x0b00, "Warning"},
    {0x0b01, "Warning - Specified Temperature Exceeded"},
    {0x0b02, "Warning - Enclosure Degraded"},
    {0x0c02, "Write Error - Auto Reallocation Failed"},
    {0x0c03, "Write Error - Recommend Reassignment"},
    {0x0c04, "Compression Check Miscompare Error"},
    {0x0c05, "Data Expansion Occurred During Compression"},
    {0x0c06, "Block Not Compressible"},
    {0x0d00, "Error Detected By Third Party Temporary Initiator"},
    {0x0d01, "Third Party Device Failure"},
    {0x0d02, "Copy Target Device Not Reachable"},
    {0x0d03, "Incorrect Copy Target Device Type"},
    {0x0d04, "Copy Target Device Data Underrun"},
    {0x0d05, "Copy Target Device Data Overrun"},
    {0x1000, "Id Crc Or Ecc Error"},
    {0x1100, "Unrecovered Read Error"},
    {0x1101, "Read Retries Exhausted"},
    {0x1102, "Error Too Long To Correct"},
    {0x1103, "Multiple Read Errors"},
    {0x1104, "Unrecovered Read Error - Auto Reallocate Failed"},
    {0x110a, "Miscorrected Error"},
    {0x110b, "Unrecovered Read Error - Recommend Reassignment"},
    {0x110c, "Unrecovered Read Error - Recommend Rewrite The Data"},
    {0x110d, "De-Compression Crc Error"},
    {0x110e, "Cannot Decompress Using Declared Algorithm"},
    {0x1200, "Address Mark Not Found For Id Field"},
    {0x1300, "Address Mark Not Found For Data Field"},
    {0x1400, "Recorded Entity Not Found"},
    {0x1401, "Record Not Found"},
    {0x1405, "Record Not Found - Recommend Reassignment"},
    {0x1406, "Record Not Found - Data Auto-Reallocated"},
    {0x1500, "Random Positioning Error"},
    {0x1501, "Mechanical Positioning Error"},
    {0x1502, "Positioning Error Detected By Read Of Medium"},
    {0x1600, "Data Synchronization Mark Error"},
    {0x1601, "Data Sync Error - Data Rewritten"},
    {0x1602, "Data Sync Error - Recommend Rewrite"},
    {0x1603, "Data Sync Error - Data Auto-Reallocated"},
    {0x1604, "Data Sync Error - Recommend Reassignment"},
    {0x1700, "Recovered Data With No Error Correction Applied"},
    {0x1701, "Recovered Data With Retries"},
    {0x1702, "Recovered Data With Positive Head Offset"},
    {0x1703, "Recovered Data With Negative Head Offset"},
    {0x1705, "Recovered Data Using Previous Sector Id"},
    {0x1706, "Recovered Data Without Ecc - Data Auto-Reallocated"},
    {0x1707, "Recovered Data Without Ecc - Recommend Reassignment"},
    {0x1708, "Recovered Data Without Ecc - Recommend Rewrite"},
    {0x1709, "Recovered Data Without Ecc - Data Rewritten"},
    {0x1800, "Recovered Data With Error Correction Applied"},
    {0x1801, "Recovered Data With Error Corr. & Retries Applied"},
    {0x1802, "Recovered Data - Data Auto-Reallocated"},
    {0x1805, "Recovered Data - Recommend Reassignment"},
    {0x1806, "Recovered Data - Recommend Rewrite"},
    {0x1807, "Recovered Data With Ecc - Data Rewritten"},
    {0x1900, "List Error"},
    {0x1901, "List Not Available"},
    {0x1902, "List Error In Primary List"},
    {0x1903, "List Error In Grown List"},
    {0x1a00, "Parameter List Length Error"},
    {0x1b00, "Synchronous Data Transfer Error"},
    {0x1c00, "Defect List Not Found"},
    {0x1c01, "Primary Defect List Not Found"},
    {0x1c02, "Grown Defect List Not Found"},
    {0x1d00, "Miscompare During Verify Operation"},
    {0x1e00, "Recovered Id With Ecc Correction"},
    {0x1f00, "Defect List Transfer"},
    {0x2000, "Invalid Command Operation Code"},
    {0x2100, "Logical Block Address Out Of Range"},
    {0x2101, "Invalid Element Address"},
    {0x2400, "Invalid Field In Cdb"},
    {0x2401, "Cdb Decryption Error"},
    {0x2500, "Logical Unit Not Supported"},
    {0x2600, "Invalid Field In Parameter List"},
    {0x2601, "Parameter Not Supported"},
    {0x2602, "Parameter Value Invalid"},
    {0x2603, "Threshold Parameters Not Supported"},
    {0x2604, "Invalid Release Of Persistent Reservation"},
    {0x2605, "Data Decryption Error"},
    {0x2606, "Too Many Target Descriptors"},
    {0x2607, "Unsupported Target Descriptor Type Code"},
    {0x2608, "Too Many Segment Descriptors"},
    {0x2609, "Unsupported Segment Descriptor Type Code"},
    {0x260a, "Unexpected Inexact Segment"},
    {0x260b, "Inline Data Length Exceeded"},
    {0x260c, "Invalid Operation For Copy Source Or Destination"},
    {0x260d, "Copy Segment Granularity Violation"},
    {0x2700, "Write Protected"},
    {0x2701, "Hardware Write Protected"},
    {0x2702, "Logical Unit Software Write Protected"},
    {0x2707, "Space Allocation Failed Write Protect"},
    {0x2800, "Not Ready To Ready Change, Medium May Have Changed"},
    {0x2801, "Import Or Export Element Accessed"},
    {0x2900, "Power On, Reset, Or Bus Device Reset Occurred"},
    {0x2901, "Power On Occurred"},
    {0x2902, "Scsi Bus Reset Occurred"},
    {0x2903, "Bus Device Reset Function Occurred"},
    {0x2904, "Device Internal Reset"},
    {0x2905, "Transceiver Mode Changed To Single-Ended"},
    {0x2906, "Transceiver Mode Changed To Lvd"},
    {0x2a00, "Parameters Changed"},
    {0x2a01, "Mode Parameters Changed"},
    {0x2a02, "Log Parameters Changed"},
    {0x2a03, "Reservations Preempted"},
    {0x2a04, "Reservations Released"},
    {0x2a05, "Registrations Preempted"},
    {0x2a06, "Asymmetric Access State Changed"},
    {0x2a07, "Implicit Asymmetric Access State Transition Failed"},
    {0x2a09, "Capacity Data Has Changed"},
    {0x2b00, "Copy Cannot Execute Since Host Cannot Disconnect"},
    {0x2c00, "Command Sequence Error"},
    {0x2c0a, "Partition or Collection Contains User Objects"},
    {0x2f00, "Commands Cleared By Another Initiator"},
    {0x3000, "Incompatible Medium Installed"},
    {0x3001, "Cannot Read Medium - Unknown Format"},
    {0x3002, "Cannot Read Medium - Incompatible Format"},
    {0x3003, "Cleaning Cartridge Installed"},
    {0x3004, "Cannot Write Medium - Unknown Format"},
    {0x3005, "Cannot Write Medium - Incompatible Format"},
    {0x3006, "Cannot Format Medium - Incompatible Medium"},
    {0x3007, "Cleaning Failure"},
    {0x3100, "Medium Format Corrupted"},
    {0x3101, "Format Command Failed"},
    {0x3200, "No Defect Spare Location Available"},
    {0x3201, "Defect List Update Failure"},
    {0x3400, "Enclosure Failure"},
    {0x3500, "Enclosure Services Failure"},
    {0x3501, "Unsupported Enclosure Function"},
    {0x3502, "Enclosure Services Unavailable"},
    {0x3503, "Enclosure Services Transfer Failure"},
    {0x3504, "Enclosure Services Transfer Refused"},
    {0x3700, "Rounded Parameter"},
    {0x3807, "Thin Provisioning Soft Threshold Reached"},
    {0x3900, "Saving Parameters Not Supported"},
    {0x3a00, "Medium Not Present"},
    {0x3a01, "Medium Not Present - Tray Closed"},
    {0x3a02, "Medium Not Present - Tray Open"},
    {0x3a03, "Medium Not Present - Loadable"},
    {0x3a04, "Medium Not Present - Medium Auxiliary Memory Accessible"},
    {0x3b0d, "Medium Destination Element Full"},
    {0x3b0e, "Medium Source Element Empty"},
    {0x3b11, "Medium Magazine Not Accessible"},
    {0x3b12, "Medium Magazine Removed"},
    {0x3b13, "Medium Magazine Inserted"},
    {0x3b14, "Medium Magazine Locked"},
    {0x3b15, "Medium Magazine Unlocked"},
    {0x3d00, "Invalid Bits In Identify Message"},
    {0x3e00, "Logical Unit Has Not Self-Configured Yet"},
    {0x3e01, "Logical Unit Failure"},
    {0x3e02, "Timeout On Logical Unit"},
    {0x3e03, "Logical Unit Failed Self-Test"},
    {0x3e04, "Logical Unit Unable To Update Self-Test Log"},
    {0x3f00, "Target Operating Conditions Have Changed"},
    {0x3f01, "Microcode Has Been Changed"},
    {0x3f02, "Changed Operating Definition"},
    {0x3f03, "Inquiry Data Has Changed"},
    {0x3f04, "Component Device Attached"},
    {0x3f05, "Device Identifier Changed"},
    {0x3f06, "Redundancy Group Created Or Modified"},
    {0x3f07, "Redundancy Group Deleted"},
    {0x3f08, "Spare Created Or Modified"},
    {0x3f09, "Spare Deleted"},
    {0x3f0a, "Volume Set Created Or Modified"},
    {0x3f0b, "Volume Set Deleted"},
    {0x3f0c, "Volume Set Deassigned"},
    {0x3f0d, "Volume Set Reassigned"},
    {0x3f0e, "Reported Luns Data Has Changed"},
    {0x3f0f, "Echo Buffer Overwritten"},
    {0x3f10, "Medium Loadable"},
    {0x3f11, "Medium Auxiliary Memory Accessible"},
    {0x4200, "Self-Test Failure (Should Use 40 Nn)"},
    {0x4300, "Message Error"},
    {0x4400, "Internal Target Failure"},
    {0x4500, "Select Or Reselect Failure"},
    {0x4600, "Unsuccessful Soft Reset"},
    {0x4700, "Scsi Parity Error"},
    {0x4701, "Data Phase Crc Error Detected"},
    {0x4702, "Scsi Parity Error Detected During St Data Phase"},
    {0x4703, "Information Unit Crc Error Detected"},
    {0x4704, "Asynchronous Information Protection Error Detected"},
    {0x4800, "Initiator Detected Error Message Received"},
    {0x4900, "Invalid Message Error"},
    {0x4a00, "Command Phase Error"},
    {0x4b00, "Data Phase Error"},
    {0x4c00, "Logical Unit Failed Self-Configuration"},
    {0x4d00, "Tagged Overlapped Commands (Nn = Queue Tag)"},
    {0x4e00, "Overlapped Commands Attempted"},
    {0x5300, "Media Load Or Eject Failed"},
    {0x5302, "Medium Removal Prevented"},
    {0x5501, "System Buffer Full"},
    {0x5502, "Insufficient Reservation Resources"},
    {0x5503, "Insufficient Resources"},
    {0x5504, "Insufficient Registration Resources"},
    {0x5a00, "Operator Request Or State Change Input"},
    {0x5a01, "Operator Medium Removal Request"},
    {0x5a02, "Operator Selected Write Protect"},
    {0x5a03, "Operator Selected Write Permit"},
    {0x5b00, "Log Exception"},
    {0x5b01, "Threshold Condition Met"},
    {0x5b02, "Log Counter At Maximum"},
    {0x5b03, "Log List Codes Exhausted"},
    {0x5c00, "Change"},
    {0x5c02, "Synchronized"},
    {0x5d00, "Failure Prediction Threshold Exceeded"},
    {0x5d10, "Failure General Hard Drive Failure"},
    {0x5d11, "Failure Drive Error Rate Too High"},
    {0x5d12, "Failure Data Error Rate Too High"},
    {0x5d13, "Failure Seek Error Rate Too High"},
    {0x5d14, "Failure Too Many Block Reassigns"},
    {0x5d15, "Failure Access Times Too High"},
    {0x5d16, "Failure Start Unit Times Too High"},
    {0x5d17, "Failure Channel Parametrics"},
    {0x5d18, "Failure Controller Detected"},
    {0x5d19, "Failure Throughput Performance"},
    {0x5d1a, "Failure Seek Time Performance"},
    {0x5d1b, "Failure Spin-Up Retry Count"},
    {0x5d1c, "Failure Drive Calibration Retry"},
    {0x5d20, "Failure General Hard Drive Failure"},
    {0x5d21, "Failure Drive Error Rate Too High"},
    {0x5d22, "Failure Data Error Rate Too High"},
    {0x5d23, "Failure Seek Error Rate Too High"},
    {0x5d24, "Failure Too Many Block Reassigns"},
    {0x5d25, "Failure Access Times Too High"},
    {0x5d26, "Failure Start Unit Times Too High"},
    {0x5d27, "Failure Channel Parametrics"},
    {0x5d28, "Failure Controller Detected"},
    {0x5d29, "Failure Throughput Performance"},
    {0x5d2a, "Failure Seek Time Performance"},
    {0x5d2b, "Failure Spin-Up Retry Count"},
    {0x5d2c, "Failure Drive Calibration Retry"},
    {0x5d30, "Impending Failure General Hard Drive"},
    {0x5d31, "Impending Failure Drive Error Rate Too High"},
    {0x5d32, "Impending Failure Data Error Rate Too High"},
    {0x5d33, "Impending Failure Seek Error Rate Too High"},
    {0x5d34, "Impending Failure Too Many Block Reassigns"},
    {0x5d35, "Impending Failure Access Times Too High"},
    {0x5d36, "Impending Failure Start Unit Times Too High"},
    {0x5d37, "Impending Failure Channel Parametrics"},
    {0x5d38, "Impending Failure Controller Detected"},
    {0x5d39, "Impending Failure Throughput Performance"},
    {0x5d3a, "Impending Failure Seek Time Performance"},
    {0x5d3b, "Impending Failure Spin-Up Retry Count"},
    {0x5d3c, "Impending Failure Drive Calibration Retry"},
    {0x5d40, "Failure General Hard Drive Failure"},
    {0x5d41, "Failure Drive Error Rate Too High"},
    {0x5d42, "Failure Data Error Rate Too High"},
    {0x5d43, "Failure Seek Error Rate Too High"},
    {0x5d44, "Failure Too Many Block Reassigns"},
    {0x5d45, "Failure Access Times Too High"},
    {0x5d46, "Failure Start Unit Times Too High"},
    {0x5d47, "Failure Channel Parametrics"},
    {0x5d48, "Failure Controller Detected"},
    {0x5d49, "Failure Throughput Performance"},
    {0x5d4a, "Failure Seek Time Performance"},
    {0x5d4b, "Failure Spin-Up Retry Count"},
    {0x5d4c, "Failure Drive Calibration Retry Count"},
    {0x5d50, "Failure General Hard Drive Failure"},
    {0x5d51, "Failure Drive Error Rate Too High"},
    {0x5d52, "Failure Data Error Rate Too High"},
    {0x5d53, "Failure Seek Error Rate Too High"},
    {0x5d54, "Failure Too Many Block Reassigns"},
    {0x5d55, "Failure Access Times Too High"},
    {0x5d56, "Failure Start Unit Times Too High"},
    {0x5d57, "Failure Channel Parametrics"},
    {0x5d58, "Failure Controller Detected"},
    {0x5d59, "Failure Throughput Performance"},
    {0x5d5a, "Failure Seek Time Performance"},
    {0x5d5b, "Failure Spin-Up Retry Count"},
    {0x5d5c, "Failure Drive Calibration Retry Count"},
    {0x5d60, "Failure General Hard Drive Failure"},
    {0x5d61, "Failure Drive Error Rate Too High"},
    {0x5d62, "Failure Data Error Rate Too High"},
    {0x5d63, "Failure Seek Error Rate Too High"},
    {0x5d64, "Failure Too Many Block Reassigns"},
    {0x5d65, "Failure Access Times Too High"},
    {0x5d66, "Failure Start Unit Times Too High"},
    {0x5d67, "Failure Channel Parametrics"},
    {0x5d68, "Failure Controller Detected"},
    {0x5d69, "Failure Throughput Performance"},
    {0x5d6a, "Failure Seek Time Performance"},
    {0x5d6b, "Failure Spin-Up Retry Count"},
    {0x5d6c, "Failure Drive Calibration Retry Count"},
    {0x5dff, "Failure Prediction Threshold Exceeded (False)"},
    {0x5e00, "Low Power Condition On"},
    {0x5e01, "Idle Condition Activated By Timer"},
    {0x5e02, "Standby Condition Activated By Timer"},
    {0x5e03, "Idle Condition Activated By Command"},
    {0x5e04, "Standby Condition Activated By Command"},
    {0x6500, "Voltage Fault"},
};

/// Where a descriptor block has the address of the first block and how many there are.
struct BlockPlace {
    std::uint8_t opcode;
    std::uint8_t address_at;
    std::uint8_t address_octets;
    std::uint8_t count_at;
    std::uint8_t count_octets;
};
constexpr BlockPlace block_places[] = {
    {0x28, 2, 4, 7, 2},  {0x2a, 2, 4, 7, 2},  {0x2e, 2, 4, 7, 2},   {0x2f, 2, 4, 7, 2},   {0x34, 2, 4, 7, 2},
    {0x35, 2, 4, 7, 2},  {0x41, 2, 4, 7, 2},  {0xa8, 2, 4, 6, 4},   {0xaa, 2, 4, 6, 4},   {0xae, 2, 4, 6, 4},
    {0xaf, 2, 4, 6, 4},  {0x88, 2, 8, 10, 4}, {0x8a, 2, 8, 10, 4},  {0x8b, 2, 8, 10, 4},  {0x8e, 2, 8, 10, 4},
    {0x8f, 2, 8, 10, 4}, {0x90, 2, 8, 10, 4}, {0x91, 2, 8, 10, 4},  {0x93, 2, 8, 10, 4},  {0x9c, 2, 8, 12, 2},
    {0x89, 2, 8, 13, 1},
};

std::uint64_t load_octets(base::Bytes bytes, std::size_t at, std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
    return value;
}

void parse_blocks(base::Bytes cdb, ScsiCommand& command) {
    const bool is_six = command.opcode == 0x08 || command.opcode == 0x0a;
    if (is_six) {
        if (cdb.size() < 5) return;
        command.first_block = load_octets(cdb, 1, 3) & 0x1fffff;
        const auto count = static_cast<std::uint32_t>(load_octets(cdb, 4, 1));
        command.block_count = count == 0 ? 256 : count;
        return;
    }
    constexpr std::uint8_t variable_length = 0x7f;
    if (command.opcode == variable_length) {
        const bool has_blocks = command.service_action >= 0x09 && command.service_action <= 0x0d;
        if (!has_blocks || cdb.size() < 32) return;
        command.first_block = load_octets(cdb, 12, 8);
        command.block_count = static_cast<std::uint32_t>(load_octets(cdb, 28, 4));
        return;
    }
    const auto* const place = std::find_if(std::begin(block_places), std::end(block_places),
                                           [&](const BlockPlace& one) { return one.opcode == command.opcode; });
    if (place == std::end(block_places)) return;
    if (cdb.size() >= place->address_at + std::size_t{place->address_octets})
        command.first_block = load_octets(cdb, place->address_at, place->address_octets);
    if (cdb.size() >= place->count_at + std::size_t{place->count_octets})
        command.block_count = static_cast<std::uint32_t>(load_octets(cdb, place->count_at, place->count_octets));
}

}  // namespace

ScsiName scsi_command_name(std::uint8_t opcode, std::uint8_t service_action) {
    for (const ScsiName& name : scsi_commands)
        if (name.opcode == opcode && (name.service_action == any_action || name.service_action == service_action))
            return name;
    return {opcode, service_action, {}, {}};
}

std::optional<std::uint32_t> scsi_service_action_at(std::uint8_t opcode) {
    switch (opcode) {
        case 0x5e:
        case 0x5f:
        case 0x9e:
        case 0x9f:
        case 0xa3:
        case 0xa4: return 1;
        case 0x7f: return 9;
        default: return std::nullopt;
    }
}

ScsiCommand parse_scsi_cdb(base::Bytes cdb) {
    ScsiCommand command;
    command.opcode = base::load_u8(cdb.data());
    const std::optional<std::uint32_t> action = scsi_service_action_at(command.opcode);
    if (action && cdb.size() > *action) {
        command.service_action = base::load_u8(cdb.data() + *action);
        if (*action == 1) command.service_action &= 0x1f;
    }
    parse_blocks(cdb, command);
    return command;
}

std::optional<ScsiSense> parse_scsi_sense(base::Bytes data) {
    if (data.size() < 4) return std::nullopt;
    ScsiSense sense;
    sense.response_code = base::load_u8(data.data()) & 0x7f;
    const bool fixed = sense.response_code == 0x70 || sense.response_code == 0x71;
    const bool described = sense.response_code == 0x72 || sense.response_code == 0x73;
    if (described) {
        sense.key = base::load_u8(data.data() + 1) & 0x0f;
        sense.code = base::load_u8(data.data() + 2);
        sense.qualifier = base::load_u8(data.data() + 3);
        return sense;
    }
    if (!fixed) return std::nullopt;
    sense.key = base::load_u8(data.data() + 2) & 0x0f;
    if (data.size() >= 14) {
        sense.code = base::load_u8(data.data() + 12);
        sense.qualifier = base::load_u8(data.data() + 13);
    }
    return sense;
}

std::string_view scsi_sense_text(std::uint8_t code, std::uint8_t qualifier) {
    return name_of(sense_codes, static_cast<std::uint64_t>(code) << 8 | qualifier);
}

}  // namespace wire
