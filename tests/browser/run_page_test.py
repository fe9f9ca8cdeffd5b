#!/usr/bin/env python3
"""The report of a run as a browser shows it: plots, tables, hostile names; no script, and it asks nothing.

usage: run_page_test.py [SCREENSHOT-FOLDER]   with PAGE_SAMPLE in the environment
"""
import chromium

ATTACK = "</td></style><img src=http://127.0.0.1:9/ onerror=alert(1)><b>"
PLOTS = ["Attempts and the believed limit", "In flight and the believed slots", "Why it waited", "Latency"]
TABLES = ["Why it waited", "Scopes", "What another law would have done", "What it cost", "Changed by headway ctl",
          "How requests ended"]


class RunPage(chromium.FileTest):
    def test_says_what_was_and_in_which_order(self):
        self.assertTrue(self.texts(".lead")[0].startswith("1180 requests ended in 30 s: 1465 attempts, 6 throttled (0.4 %), 2 failed."))
        self.assertEqual([t.partition(" a ")[0] for t in self.ask("[...document.querySelectorAll('svg')].map(e => e.ariaLabel.split(',')[0])")], PLOTS)
        self.assertEqual(self.texts("h2"), TABLES)
        self.assertEqual(self.rows("What another law"), [
            ["as recorded", "25 s", "1192", "0.5 %"], ["the same law, simulated", "25 s", "–", "0.6 %"],
            ["knows the limit", "24 s", "1180", "0.0 %"], ["reno", "26 s", "1230", "4.0 %"], ["exponential", "does not end", "–", "–"]])
        self.assertEqual(self.rows("What it cost")[1], ["tokens", "1180", "354000", "300", "401200", "0.88"])

    def test_texts_are_texts(self):
        self.assertEqual(self.texts("h1"), ["headway run: " + ATTACK])
        self.assertEqual(self.rows("Changed")[0][1], f"scope {ATTACK} rate 20/s")
        self.assertTrue(self.rows("Scopes")[0][0].endswith(ATTACK))
        self.assertEqual(self.ask("document.querySelectorAll('img, b, script, iframe, object, link, [src], [href], [style]').length"), 0)

    def test_plots_are_the_moments(self):
        drawn = "[...document.querySelectorAll('svg')].map(s => [...s.querySelectorAll('path:not(.grid)')].map(p => p.getBBox().width > 0))"
        self.assertEqual(self.ask(drawn), [[True] * 5, [True], [True, True], [True, True]])
        band = self.ask("(() => { const b = document.querySelector('.band').getBBox(); return [b.x, b.width]; })()")
        self.assertAlmostEqual(band[0], 100 + 800 * 151 / 300, delta=1)  # the server asked to wait from 15.1 s to 17 s
        self.assertAlmostEqual(band[1], 800 * 19 / 300, delta=1)
        self.assertEqual(len(self.ask("[...document.querySelectorAll('details tbody tr')].map(r => r.cells.length)")), 300)
        self.assertEqual(self.rows("The plots")[20], ["2.00 s", "5", "3", "0", "3", "50", "–", "50", "100"])

    def test_the_keyboard_reaches_each_table(self):
        self.assertLessEqual({"The plots as numbers, by 100 ms", *TABLES}, self.reached(10))

    def test_light_dark_and_narrow(self):
        for width, scheme in self.each_look("run_page", 390):
            self.assertEqual(self.ask("[...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().right > innerWidth).length"), 0)
            # Nor is a number cut short: 556.2 was 56.2.
            self.assertEqual(self.ask("[...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().left < t.ownerSVGElement.getBoundingClientRect().left).map(t => t.textContent)"), [])
            # Text of the plots can be read: at least 9 px high as it is drawn.
            self.assertGreaterEqual(self.ask("Math.min(...[...document.querySelectorAll('svg text')].map(t => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getBoundingClientRect().width / 900))"), 9)

    def test_asks_nothing_and_is_small(self):
        self.refuses_requests()
        self.assertLess(len(self.text), 200 * 1024)


if __name__ == "__main__":
    chromium.main()
