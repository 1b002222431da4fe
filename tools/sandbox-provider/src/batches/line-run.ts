import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import type { Call, Handle, Reply } from '../http/reply';

const SLICES = 20;
const LONGEST_SLICE = 50;
const LONGEST_PAUSE_MS = 100;

/** The lines that a batch runs, in order and in short slices, so that live calls are answered in between. */
export interface LineRun {
  readonly total: number;
  /** Target duration of the whole run; 0 for as fast as possible. */
  readonly durationMs: number;
  readonly runLine: (index: number) => Promise<void>;
  /** Called before every slice and during pauses; true ends the run. */
  readonly isStopped: () => boolean;
}

/** Returns how many lines were run. */
export async function runLines(run: LineRun): Promise<number> {
  const slice = Math.max(1, Math.min(LONGEST_SLICE, Math.ceil(run.total / SLICES)));
  let done = 0;
  while (done < run.total) {
    if (run.isStopped()) return done;
    const end = Math.min(done + slice, run.total);
    await pauseUnlessStopped(run, (run.durationMs * (end - done)) / run.total);
    if (run.isStopped()) return done;
    for (; done < end; done += 1) await run.runLine(done);
  }
  return done;
}

/** Waits in steps, so that a stop is noticed soon. */
async function pauseUnlessStopped(run: LineRun, durationMs: number): Promise<void> {
  for (let left = durationMs; left > LONGEST_PAUSE_MS && !run.isStopped(); left -= LONGEST_PAUSE_MS) {
    await pause(LONGEST_PAUSE_MS);
  }
  await pause(run.isStopped() ? 0 : durationMs % LONGEST_PAUSE_MS);
}

/** Never keeps the process alive: a batch that is cut off by the end of the process is lost with it. */
export async function pause(durationMs: number): Promise<void> {
  if (durationMs < 1) await nextTurn(undefined, { ref: false });
  else await wait(durationMs, undefined, { ref: false });
}

export type LineAnswer =
  | { readonly kind: 'answer'; readonly status: number; readonly body: unknown }
  | { readonly kind: 'fault'; readonly name: string };

/** Runs one line's body through the handler of a live call. A scripted fault of the transport has no status. */
export async function answerLine(handle: Handle, body: unknown): Promise<LineAnswer> {
  const call: Call = { headers: {}, query: new URLSearchParams(), id: '', body: Buffer.from(JSON.stringify(body)) };
  const reply: Reply = await handle(call);
  if (reply.kind === 'stream') return { kind: 'fault', name: 'stream' };
  const fault = reply.playback?.fault ?? null;
  if (fault) return { kind: 'fault', name: fault.kind };
  return { kind: 'answer', status: reply.status, body: JSON.parse(reply.body.toString()) };
}
