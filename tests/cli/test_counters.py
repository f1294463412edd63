"""--counters: what the machines of the lab read from their kernels around a run (pcaps/*.json) is given next to its packets,
and what `why` and `flows` make of it."""
import json
import unittest

from command import PCAPS, TestCase, run


class Counters(TestCase):
    def file_of(self, capture, node):
        """A file as `flows -i ... --json` would have written it there; facts as docs/why.md has them."""
        facts = {"out_of_seq_request": "out_of_sequence", "rcvd_seq_err": "sequence_naks", "rcvd_rnr_err": "rnr_received",
                 "send_rnr_err": "out_of_buffer", "completer_retry_err": "retransmissions", "sent_pkts": "packets_sent",
                 "rcvd_pkts": "packets_received", "duplicate_request": "duplicates"}
        about = json.loads((PCAPS / f"{capture}.json").read_text())
        before, after = (about[moment][node]["hw_counters"] for moment in ("counters_before", "counters_after"))
        counters = [{"device": key.split("/")[0], "port": 1, "counter": key.split("/")[1], "unit": "times",
                     "fact": facts.get(key.split("/")[1]), "value": after[key] - before[key]} for key in after]
        path = self.folder / "counters.json"
        path.write_text(json.dumps({"flows": [], "devices": {"length_ns": 1, "counters": counters}}))
        return path, {one["counter"]: one["value"] for one in counters}

    def why(self, *arguments):
        return json.loads(self.succeeds(run("why", "--json", *arguments)))["answers"]

    def test_what_packets_show_is_confirmed_by_name(self):
        capture = PCAPS / "rxe-verbs-rnr.pcap"
        for node, name in (("A", "send_rnr_err"), ("B", "rcvd_rnr_err")):
            with self.subTest(node=node):
                path, values = self.file_of("rxe-verbs-rnr", node)
                self.assertGreater(values[name], 0)
                without, with_them = self.why("-r", capture)[0], self.why("-r", capture, "--counters", path)[0]
                self.assertEqual((with_them["question"], with_them["verdict"]), ("bandwidth", "rnr"))
                self.assertEqual(with_them["summary"], without["summary"])
                self.assertGreaterEqual(with_them["confidence"], without["confidence"])
                proof = [one for one in with_them["evidence"] if one["what"].startswith(f"{name} of rxe0 port 1 (")]
                self.assertEqual([one["value"] for one in proof], [values[name]])

    def test_what_packets_do_not_show_is_told_alone(self):
        # The packets of a healthy run, next to the counters of one with losses.
        path, values = self.file_of("rxe-loss1pct-send-bw", "B")
        answers = self.why("-r", PCAPS / "rxe-write-bw-64k.pcap", "--counters", path)
        self.assertEqual((answers[0]["verdict"], answers[0]["flows"]), ("loss_after_tap", []))
        self.assertIn(f"counted {values['rcvd_seq_err']} ", answers[0]["summary"])
        text = self.succeeds(run("why", "-r", PCAPS / "rxe-write-bw-64k.pcap", "--counters", path))
        self.assertIn("rcvd_seq_err", text)

    def test_one_flow_is_not_what_they_are_about(self):
        path, _ = self.file_of("rxe-loss1pct-send-bw", "B")
        capture = PCAPS / "rxe-write-bw-64k.pcap"
        flow = json.loads(self.succeeds(run("flows", "--json", "-r", capture)))["flows"][0]["id"]
        self.assertEqual(self.why("-r", capture, "--flow", flow, "--counters", path), self.why("-r", capture, "--flow", flow))

    def test_flows_hands_them_on(self):
        path, values = self.file_of("rxe-loss1pct-send-bw", "A")
        devices = json.loads(self.succeeds(run("flows", "--json", "-r", PCAPS / "rxe-rping.pcap", "--counters", path)))["devices"]
        self.assertEqual({one["counter"]: one["value"] for one in devices["counters"]}, values)
        self.assertNotIn("devices", json.loads(self.succeeds(run("flows", "--json", "-r", PCAPS / "rxe-rping.pcap"))))

    def test_what_is_no_file_of_counters_is_refused_with_the_reason(self):
        bad = self.folder / "bad.json"
        for text in ("", "{", "[]", '{"counters":3}', '{"counters":[{"device":7}]}', '{"devices":null}', "\0" * 1000):
            bad.write_text(text)
            with self.subTest(text=text):
                self.assertIn("bad.json", self.fails(run("why", "-r", PCAPS / "rxe-rping.pcap", "--counters", bad)))
        self.assertIn("No such file", self.fails(run("why", "-r", PCAPS / "rxe-rping.pcap", "--counters", self.folder / "none")))
        self.assertIn("directory", self.fails(run("why", "-r", PCAPS / "rxe-rping.pcap", "--counters", self.folder)))

    def test_where_they_are_not_wanted(self):
        for arguments in (["why", "-i", "lo"], ["flows", "--connect=/none"], ["top", "-r", PCAPS / "rxe-rping.pcap"]):
            with self.subTest(arguments=arguments):
                self.assertIn("--counters", self.fails(run(*arguments, "--counters", "x"), 2))


if __name__ == "__main__":
    unittest.main()
