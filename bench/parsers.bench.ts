import { readFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';
import { parse as repair } from '../apps/gateway/src/parsers/json-repair';
import { parse as readHtml } from '../apps/gateway/src/parsers/html-text';
import { ParserPool } from '../apps/gateway/src/parsers/parser-pool';
import type { ParserTask } from '../apps/gateway/src/parsers/parser-process';
import { parse as readPdf } from '../apps/gateway/src/parsers/pdf-text';
import { pdfOfPages } from '../apps/gateway/src/parsers/testing/pdf-bombs';
import { runBenchmark } from './support/comparison';
import { median, rounded } from './support/statistics';

/**
 * Measures what parsing a file or text in a child process costs: the time of the same work in this process, as in the
 * gateway's, and in a running child, in turns. Also how long a child takes to start, and how much memory it takes.
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 200);
const STARTS = 5;
const never = { holders: ['workspace', 'organization'], signal: new AbortController().signal };

const PAGE = 'A line of words that somebody wrote for others to read. '.repeat(50);
const HTML = `<title>A page</title>${`<p>${PAGE}<a href="/next">next</a></p>`.repeat(20)}`;
const PDF_SETTINGS = { maxPages: 200, maxCharacters: 1_000_000, pagesMs: 60_000 };

const html = (text: string): ParserTask => ({
  parser: 'html-text',
  settings: { base: 'https://a.example/' },
  payload: Buffer.from(text),
  timeoutMs: 60_000,
});
const pdf = (bytes: Uint8Array): ParserTask => ({
  parser: 'pdf-text',
  settings: PDF_SETTINGS,
  payload: bytes,
  timeoutMs: 60_000,
});
const json = (text: string): ParserTask => ({
  parser: 'json-repair',
  settings: {},
  payload: Buffer.from(text),
  timeoutMs: 60_000,
});

async function timed(work: () => unknown): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** Medians in milliseconds of the work here and in a child. */
async function compare(pool: ParserPool, task: ParserTask, here: () => unknown, rounds = ROUNDS): Promise<object> {
  const times = { here: [] as number[], child: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    times.here.push(await timed(here));
    times.child.push(await timed(() => pool.run(task, never)));
  }
  const outcome = await pool.run(task, never);
  if (outcome.state !== 'done' || outcome.value === null) throw new Error(`${task.parser}: ${outcome.state}`);
  const [hereMs, childMs] = [median(times.here), median(times.child)];
  return { here_ms: rounded(hereMs, 2), child_ms: rounded(childMs, 2), overhead_ms: rounded(childMs - hereMs, 2) };
}

async function measureStart(): Promise<object> {
  const times: number[] = [];
  let memory: Record<string, number> = {};
  for (let start = 0; start < STARTS; start += 1) {
    const pool = new ParserPool();
    times.push(await timed(() => pool.run(json('{'), never)));
    memory = memoryOf(pool.pids[0]!);
    await pool.onApplicationShutdown();
  }
  return { first_task_ms: rounded(median(times), 0), ...memory };
}

/** In MiB: all of a child, and what it does not share with the gateway. */
function memoryOf(pid: number): Record<string, number> {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (name: string): number => rounded(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024, 1);
  return { resident_mib: mib('VmRSS'), own_mib: mib('RssAnon') };
}

async function run(): Promise<object> {
  const pool = new ParserPool();
  const onePage = pdfOfPages(1, () => deflateSync(`BT /F1 9 Tf (${PAGE}) Tj ET`));
  const manyPages = pdfOfPages(200, (page) => deflateSync(`BT /F1 9 Tf (${page} ${PAGE}) Tj ET`));
  const bytes = (buffer: Buffer): Uint8Array => new Uint8Array(buffer);
  const report = {
    benchmark: 'parsers',
    pdf_one_page: await compare(pool, pdf(onePage), () => readPdf(bytes(onePage), PDF_SETTINGS)),
    pdf_200_pages: await compare(pool, pdf(manyPages), () => readPdf(bytes(manyPages), PDF_SETTINGS), 5),
    html_60_kb: await compare(pool, html(HTML), () => readHtml(Buffer.from(HTML), { base: 'https://a.example/' })),
    html_1_mb: await compare(pool, html(HTML.repeat(16)), () =>
      readHtml(Buffer.from(HTML.repeat(16)), { base: 'https://a.example/' }),
    ),
    json: await compare(pool, json('{"a": [1, 2,'), () => repair(Buffer.from('{"a": [1, 2,'))),
    start: await measureStart(),
  };
  await pool.onApplicationShutdown();
  return report;
}

runBenchmark(run);
