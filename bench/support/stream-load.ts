import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';

export interface StreamTarget {
  readonly url: string;
  readonly apiKey: string;
  readonly body: string;
}

export interface StreamLoad {
  /** Callers that read one stream after the other. */
  readonly callers: number;
  readonly seconds: number;
  /** Callers begin spread over so long, so that they do not all begin and end at once. */
  readonly spreadMs: number;
}

export interface StreamLoadReport {
  /** From the request to the first byte of the body, of each stream that began after the spread. */
  readonly firstByteMs: readonly number[];
  /** Streams that came to their end, those of the spread included. */
  readonly streams: number;
  /** Streams that were refused or broke off. */
  readonly failed: number;
}

/** Reads streams for so long, and the last ones to their end. */
export async function measureStreams(target: StreamTarget, load: StreamLoad): Promise<StreamLoadReport> {
  const { origin, pathname } = new URL(target.url);
  const pool = new Pool(origin, { connections: load.callers, pipelining: 1 });
  const firstByteMs: number[] = [];
  const report = { streams: 0, failed: 0 };
  const startedMs = performance.now();
  const countedFromMs = startedMs + load.spreadMs;
  const endMs = countedFromMs + load.seconds * 1_000;
  const caller = async (index: number): Promise<void> => {
    await delay((index / load.callers) * load.spreadMs);
    while (performance.now() < endMs) {
      const askedMs = performance.now();
      const tookMs = await readStream(pool, pathname, target);
      if (tookMs === null) report.failed += 1;
      else report.streams += 1;
      if (tookMs !== null && askedMs >= countedFromMs) firstByteMs.push(tookMs);
    }
  };
  await Promise.all(Array.from({ length: load.callers }, (_, index) => caller(index)));
  await pool.close();
  return { ...report, firstByteMs };
}

/** Milliseconds to the first byte of the body; null for a stream that is none or breaks off. */
async function readStream(pool: Pool, path: string, { apiKey, body }: StreamTarget): Promise<number | null> {
  const startedMs = performance.now();
  let firstMs: number | null = null;
  let last: Buffer = Buffer.alloc(0);
  try {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const answer = await pool.request({ method: 'POST', path, headers, body });
    for await (const bytes of answer.body as AsyncIterable<Buffer>) {
      firstMs ??= performance.now() - startedMs;
      last = bytes;
    }
    return answer.statusCode === 200 && last.includes('[DONE]') ? firstMs : null;
  } catch {
    return null;
  }
}
