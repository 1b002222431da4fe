import { AppError } from '@libs/errors';
import { callCancelled } from '@libs/inference';
import { refusalToPay, type ToolFund } from './tool-fund';
import { failedUse, type ToolContext, type ToolOutcome } from './server-tool';
import type { PlannedTool } from './server-tool-plan';

/** A call that the model made of one of our tools. */
export interface ToolCall {
  readonly id: string;
  /** JSON as the model wrote it. */
  readonly arguments: string;
  readonly tool: PlannedTool;
}

export interface FinishedCall<Call extends ToolCall = ToolCall> {
  readonly call: Call;
  readonly outcome: ToolOutcome;
  /** Whether the tool was started at all. */
  readonly wasRun: boolean;
}

const MOST_AT_ONCE = 8;
/** Of one turn; no sensible model asks for more at once. */
const MOST_CALLS = 64;
const DEFAULT_TIMEOUT_MS = 60_000;

export interface RunSettings<Call extends ToolCall> {
  /** How long all of it may take. */
  readonly leftMs: number;
  /** Paid uses of tools reserve their cost from it. */
  readonly fund: ToolFund;
  /** Called for each tool call as soon as it has ended, however late the results are read. */
  readonly onEnd?: (finished: FinishedCall<Call>) => void;
}

/**
 * Runs the calls of one turn, some at once, and hands each on as soon as it is done.
 *
 * What a tool cannot do is an outcome. A call that takes too long becomes one as well, for the model may go on
 * without it. Once the request is aborted nothing is waited for any more.
 *
 * @throws AppError request_timeout when the request was aborted, or what a tool threw
 */
export async function* runCalls<Call extends ToolCall>(
  calls: readonly Call[],
  context: ToolContext,
  settings: RunSettings<Call>,
): AsyncGenerator<FinishedCall<Call>> {
  const group = new AbortController();
  const signal = AbortSignal.any([context.signal, group.signal]);
  const running = new Map<Call, Promise<FinishedCall<Call>>>();
  const waiting = calls.slice(0, MOST_CALLS);
  try {
    for (const call of calls.slice(MOST_CALLS)) {
      yield { call, outcome: failedUse('Too many tools were called at once.'), wasRun: false };
    }
    while (waiting.length > 0 || running.size > 0) {
      while (running.size < MOST_AT_ONCE && waiting.length > 0) {
        const call = waiting.shift()!;
        running.set(call, runCall(call, { ...context, signal }, settings));
      }
      const finished = await Promise.race(running.values());
      running.delete(finished.call);
      yield finished;
    }
  } finally {
    // Whoever is still running works for nobody: its end, good or bad, is of no interest.
    group.abort();
    for (const run of running.values()) run.catch(() => undefined);
  }
}

async function runCall<Call extends ToolCall>(
  call: Call,
  context: ToolContext,
  { leftMs, fund, onEnd }: RunSettings<Call>,
): Promise<FinishedCall<Call>> {
  const args = parsedArguments(call.arguments);
  if (args === INVALID) {
    return { call, outcome: failedUse('The arguments are not valid JSON.'), wasRun: false };
  }
  const { bound } = call.tool;
  const reserved = await fund.reserve(bound.mostPicoUsd ?? 0n).catch(refusalToPay);
  if (reserved === null) {
    return { call, outcome: failedUse('There is not enough credit left to use this tool.'), wasRun: false };
  }
  const timeoutMs = Math.max(1, Math.min(bound.timeoutMs ?? DEFAULT_TIMEOUT_MS, leftMs));
  const finished = { call, outcome: await withinTime(call, context, timeoutMs, args), wasRun: true };
  fund.spent(reserved, finished.outcome.costPicoUsd);
  onEnd?.(finished);
  return finished;
}

async function withinTime(
  { tool }: ToolCall,
  context: ToolContext,
  timeoutMs: number,
  args: unknown,
): Promise<ToolOutcome> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([context.signal, timeout]);
  const left = new Promise<'left'>((resolve) => {
    if (signal.aborted) resolve('left');
    signal.addEventListener('abort', () => resolve('left'), { once: true });
  });
  const run = tool.bound.run(args, { ...context, signal });
  run.catch(() => undefined);
  try {
    const ended = await Promise.race([run, left]);
    if (ended !== 'left') return ended;
  } catch (thrown) {
    if (!signal.aborted) throw AppError.from(thrown);
  }
  if (context.signal.aborted) throw callCancelled();
  return failedUse('The tool took too long.');
}

const INVALID = Symbol('no JSON');

/** No arguments at all are those of a function that takes none. */
function parsedArguments(text: string): unknown {
  try {
    return text.trim() === '' ? {} : (JSON.parse(text) as unknown);
  } catch {
    // The model wrote it: it is told so.
    return INVALID;
  }
}
