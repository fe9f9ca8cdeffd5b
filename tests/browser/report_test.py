#!/usr/bin/env python3
"""The report page as a browser shows it: curves, legend, tables, switches; quiet, and alone.

usage: report_test.py [SCREENSHOT-FOLDER]   with PAGE_SAMPLE in the environment
"""
import chromium

TITLE = "</script><img src=http://127.0.0.1:9/ onerror=alert(1)> & co"
RIVALS = [f"rival-{i}" for i in range(6)]
FASTEST = ["told", "seek", *RIVALS]  # these are drawn at first
LAWS = ["told", "reckless", *FASTEST[1:], "exponential-decorrelated", "hammer"]


class Report(chromium.FileTest):
    def do(self, expression):
        self.ask(f"{{ {expression}; {chromium.SETTLE} }}")

    def curve(self, plot, law):
        """{x: y} as uPlot has it; None where the law is not drawn."""
        points = self.ask(f"""(() => {{
            const chart = document.getElementById({plot!r}).chart;
            const at = chart.series.findIndex(s => s.label === {law!r});
            return chart.series[at].show ? chart.data[0].map((x, i) => [x, chart.data[at][i]]) : null;
        }})()""")
        return points and {x: y for x, y in points if y is not None}

    def press(self, law):
        self.do(f"[...document.querySelectorAll('#s0 .legend button')].find(b => b.textContent.startsWith({law!r})).click()")

    def choose(self, plot, value):
        self.do(f"document.querySelector('figure:has(#{plot}) input[value={value}]').click()")

    def table(self, plot):
        self.do(f"document.querySelector('figure:has(#{plot}) details').open = true")
        self.do("0")
        return self.ask(f"[...document.querySelectorAll('figure:has(#{plot}) tr')].map(r => [...r.cells].map(c => c.textContent))")

    def pixels(self, plot, law_colour):
        """How many of a plot's pixels have about the colour of a custom property."""
        return self.ask(f"""(() => {{
            const probe = document.body.appendChild(document.createElement("i"));
            probe.style.color = "var({law_colour})";
            const [r, g, b] = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
            probe.remove();
            const {{ ctx, bbox }} = document.getElementById({plot!r}).chart;
            const {{ data }} = ctx.getImageData(bbox.left, bbox.top, bbox.width, bbox.height);
            let count = 0;
            for (let i = 0; i < data.length; i += 4)
                if (data[i + 3] > 128 && Math.hypot(data[i] - r, data[i + 1] - g, data[i + 2] - b) < 24) ++count;
            return count;
        }})()""")

    def test_texts_are_texts(self):
        self.assertEqual(self.texts("h2"), ["swept over latency", TITLE, "another", "swept latency=5ms", "swept latency=50ms"])
        self.assertEqual(self.texts("#s0 h2 + p"), ['A page is text, whatever the scenario calls itself: <b>"bold"</b>.'])
        self.assertEqual(self.texts("nav a"), [TITLE, "another", "swept latency=5ms", "swept latency=50ms"])
        self.assertEqual(self.texts("#command"), ["headway simulate sample --report <file>"])
        self.assertEqual(self.ask("document.title"), "headway simulate sample --report <file>")
        self.assertEqual(self.ask("document.querySelectorAll('img, b:not(.tip b), iframe, object').length"), 0)

    def test_legend_names_the_laws_fastest_first(self):
        self.assertEqual(self.texts("#s0 .legend button"), ["told (knows the limit)", *LAWS[1:], "all", "none"])
        pressed = self.texts("#s0 .legend [aria-pressed=true]")
        self.assertEqual(pressed, ["told (knows the limit)", *FASTEST[1:]])
        self.assertEqual(self.texts("#s1 .legend button")[:3], ["told (knows the limit)", "seek", "exponential-decorrelated"])

    def test_says_which_law_to_take(self):
        self.assertEqual(self.texts("#s0 .which"), [
            "Which? seek (1.2 times the limit-known sender's time, 13.8 % refused), the default law. "
            "reckless (1.1 times the limit-known sender's time, 97.6 % refused) is faster, by being refused."])

    def test_a_sweep_has_a_chart_over_its_key(self):
        time = self.table("sweep-over0-time")
        self.assertEqual(time[0][0], "latency")
        self.assertEqual([row[0] for row in time[1:]], ["5ms", "50ms"])
        column = time[0].index("seek")
        self.assertEqual([row[column] for row in time[1:]], ["1.2", "2.37"])
        self.assertGreater(self.pixels("sweep-over0-time", "--c1"), 20)

    def test_curves_are_the_figures(self):
        self.assertEqual(self.curve("s0-rate", "told"), {s + 1: 12 - s for s in range(10)})
        self.assertEqual(self.curve("s0-rate", "seek"), {s + 1: 16 - s for s in range(12)})
        self.assertEqual(self.curve("s0-window", "seek"), {s + 1: 8 for s in range(12)})
        self.choose("s0-rate", "throttled")
        self.assertEqual(self.curve("s0-rate", "told"), {s + 1: (12 - s) // 4 for s in range(10)})
        self.choose("s0-rate", "accepted")
        self.assertEqual(self.curve("s0-rate", "told"), {s + 1: (12 - s) - (12 - s) // 4 for s in range(10)})
        self.choose("s0-window", "in_flight")
        self.assertEqual(self.curve("s0-window", "told"), {s + 1: (12 - s) // 2 for s in range(10)})
        self.assertEqual(self.ask("document.getElementById('s0-time').chart.data[1]").pop(0), 1)

    def test_logarithmic_scale_has_no_zeros(self):
        self.choose("s0-rate", "throttled")
        self.choose("s0-rate", "log")
        self.assertEqual(self.ask("document.getElementById('s0-rate').chart.scales.y.distr"), 3)
        self.assertEqual(self.curve("s0-rate", "told"), {s + 1: (12 - s) // 4 for s in range(10) if s <= 8})

    def test_legend_hides_and_shows(self):
        self.assertGreater(self.pixels("s1-rate", "--c1"), 20)
        self.press("seek")
        self.assertIsNone(self.curve("s0-rate", "seek"))
        self.assertIsNone(self.curve("s0-window", "seek"))
        self.press("seek")
        self.assertIsNotNone(self.curve("s0-rate", "seek"))
        self.do("[...document.querySelectorAll('#s1 .legend button')].at(-1).click()")
        self.assertEqual(self.pixels("s1-rate", "--c1"), 0)

    def test_a_long_run_is_thinned_and_short_ones_are_not(self):
        self.press("exponential-decorrelated")
        long = self.curve("s0-rate", "exponential-decorrelated")
        self.assertEqual(len(long), 375)  # 1,500 moments, four to a point
        self.assertEqual((long[4], long[1500]), (3998.5, 2502.5))
        self.assertEqual(self.curve("s0-rate", "told"), {s + 1: 12 - s for s in range(10)})

    def test_tables_have_the_numbers(self):
        rate = self.table("s0-rate")
        self.assertEqual(rate[0], ["seconds", "told", "reckless", *FASTEST[1:], "exponential-decorrelated"])
        self.assertEqual((rate[1][1], rate[1][3]), ("12", "16"))
        self.assertEqual((rate[12][1], rate[12][3]), ("–", "5"))
        self.choose("s0-rate", "throttled")
        throttled = self.table("s0-rate")[1]
        self.assertEqual((throttled[1], throttled[3]), ("3", "4"))
        time = self.table("s0-time")
        self.assertEqual(time[0], ["law", "median", "p90", "seed 1", "seed 2", "seed 3"])
        self.assertEqual(time[1], ["told", "1", "1", "1", "1", "1"])
        self.assertEqual(time[3], ["seek", "1.2", "1.2", "1.2", "1.2", "1.19"])  # 12.1/10.1 …
        self.assertEqual(self.table("s0-throttled")[1][1], "10.7")  # 12 of 112
        figures = self.ask("[...document.querySelectorAll('#s0 .figures tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
        self.assertEqual([row[0] for row in figures], LAWS)
        self.assertEqual(figures[2], ["seek", "1.2", "12.2 (12.3)", "1.16", "13.8", "4", "0.05", "0.9", "1", "3 of 3"])
        self.assertEqual(set(figures[-1][1:-1]), {"not measured"})

    def test_keyboard_reads_a_curve(self):
        self.do("document.getElementById('s0-rate').focus()")
        for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
            self.page.press(key)
        self.do("0")
        self.assertEqual(self.texts("#s0-rate .tip div:first-of-type"), ["rival-544"])
        self.assertTrue(self.texts("#s0-rate .tip")[0].startswith("2 s"))
        self.page.press("Tab")
        self.assertEqual(self.ask("document.activeElement.tagName"), "SUMMARY")
        self.assertEqual(self.texts(".tip"), [])

    def test_light_dark_and_narrow(self):
        for width, scheme in self.each_look("report", 360):
            self.assertEqual(self.clipped(), [])
            self.assertGreater(self.pixels("s1-rate", "--c1"), 20)
            self.assertEqual(self.ask("document.getElementById('s1-rate').chart.axes[0].stroke()"),
                             {"light": "#1b1f24", "dark": "#e6e8ea"}[scheme])

    def clipped(self):
        """Law names and medians that do not fit where they stand."""
        return self.ask("""(() => {
            const pen = document.createElement("canvas").getContext("2d");
            pen.font = "12px system-ui, sans-serif";
            const wrong = [];
            for (const plot of document.querySelectorAll(".plot")) {
                if (plot.chart.width > plot.clientWidth) wrong.push(`${plot.id} is wider than its place`);
                for (const axis of plot.chart.axes.filter(a => a.side % 2))
                    for (const text of axis._values ?? [])
                        if (pen.measureText(text).width + 8 > axis._size) wrong.push(text);
            }
            return wrong;
        })()""")

    def test_follows_the_colour_scheme_and_the_width(self):
        before = self.ask("document.getElementById('s1-rate').chart.width")
        self.page.look(360, 900, "dark")
        self.do("0")
        self.do("0")
        self.assertLess(self.ask("document.getElementById('s1-rate').chart.width"), before)
        self.assertGreater(self.pixels("s1-rate", "--c1"), 20)

    def test_is_small_and_may_ask_no_server(self):
        begin = self.text.index(b'id="data">')
        self.assertLess(len(self.text) - (self.text.index(b"</script>", begin) - begin), 250 * 1024)
        self.refuses_requests()
        self.assertEqual(self.ask("document.querySelectorAll('[src], link, [style*=url]').length"), 0)


if __name__ == "__main__":
    chromium.main()
