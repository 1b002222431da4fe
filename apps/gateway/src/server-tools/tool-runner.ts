import { AppError } from '@libs/errors';
import { callCancelled, Cancellation } from '@libs/inference';
import { refusalToPay, type ToolFund } from './tool-fund';
import { failedUse, type ToolContext, type ToolOutcome } from './server-tool';
import type { PlannedTool } from './server-tool-plan';

/** A call of one of the gateway's tools by the model. */
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

type UseCost = Parameters<ToolFund['spent']>[1];

const MOST_AT_ONCE = 8;
/** Most calls of one turn; no reasonable model asks for more at once. */
const MOST_CALLS = 64;
const DEFAULT_TIMEOUT_MS = 60_000;

export interface RunSettings<Call extends ToolCall> {
  /** Time for all calls together. */
  readonly leftMs: number;
  /** The fund from which paid tool uses reserve their cost. */
  readonly fund: ToolFund;
  /** Why no further tool may begin, as a sentence for the model; null if one may. */
  readonly refusal?: () => string | null;
  /** Called for each tool call as soon as it has ended, even if the results are read later. */
  readonly onEnd?: (finished: FinishedCall<Call>) => void;
  /** Called for each tool call as it begins; the promise resolves when its cost is known, however it ends. */
  readonly onBegin?: (over: Promise<void>) => void;
  /**
   * Called when a use ends after its result was no longer needed. `wasCounted`: `onEnd` was already called for it,
   * without a cost.
   */
  readonly onLate?: (call: Call, outcome: ToolOutcome, wasCounted: boolean) => void;
}

/**
 * Runs the calls of one turn, some of them concurrently, and yields each as soon as it is done.
 *
 * A failure of a tool is a result. A call that takes too long also becomes one, because the model may continue without
 * it. After the request is aborted, nothing is awaited.
 * @throws AppError request_timeout if the request was aborted, or the error that a tool threw
 */
export async function* runCalls<Call extends ToolCall>(
  calls: readonly Call[],
  context: ToolContext,
  settings: RunSettings<Call>,
): AsyncGenerator<FinishedCall<Call>> {
  const group = Cancellation.following(context.cancellation);
  const running = new Map<Call, Promise<FinishedCall<Call>>>();
  const waiting = calls.slice(0, MOST_CALLS);
  try {
    for (const call of calls.slice(MOST_CALLS)) {
      yield { call, outcome: failedUse('Too many tools were called at once.'), wasRun: false };
    }
    while (waiting.length > 0 || running.size > 0) {
      while (running.size < MOST_AT_ONCE && waiting.length > 0) {
        const call = waiting.shift()!;
        running.set(call, runCall(call, { ...context, cancellation: group, signal: group.toAbortSignal() }, settings));
      }
      const finished = await Promise.race(running.values());
      running.delete(finished.call);
      yield finished;
    }
  } finally {
    // The results of calls that still run are not needed; `onLate` gets their cost.
    group.leave();
    for (const run of running.values()) run.catch(() => undefined);
  }
}

async function runCall<Call extends ToolCall>(
  call: Call,
  context: ToolContext,
  settings: RunSettings<Call>,
): Promise<FinishedCall<Call>> {
  const over = Promise.withResolvers<void>();
  settings.onBegin?.(over.promise);
  const late: Promise<void>[] = [];
  try {
    return await useTool(call, context, { ...settings, goesOn: (use) => late.push(use) });
  } finally {
    void Promise.all(late).then(() => over.resolve());
  }
}

interface UseSettings<Call extends ToolCall> extends RunSettings<Call> {
  readonly goesOn: (use: Promise<void>) => void;
}

async function useTool<Call extends ToolCall>(
  call: Call,
  context: ToolContext,
  settings: UseSettings<Call>,
): Promise<FinishedCall<Call>> {
  const refusal = settings.refusal?.() ?? null;
  if (refusal !== null) return { call, outcome: failedUse(refusal), wasRun: false };
  const args = parsedArguments(call.arguments);
  if (args === INVALID) {
    return { call, outcome: failedUse('The arguments are not valid JSON.'), wasRun: false };
  }
  const { fund } = settings;
  const { mostPicoUsd = 0n } = call.tool.bound;
  const most = typeof mostPicoUsd === 'bigint' ? mostPicoUsd : mostPicoUsd(args);
  const reserved = await fund.reserve(most).catch(refusalToPay);
  if (reserved === null) {
    return { call, outcome: failedUse('There is not enough credit left to use this tool.'), wasRun: false };
  }
  if (context.cancellation.aborted) {
    fund.spent(reserved, NOTHING);
    throw callCancelled();
  }
  return useReserved(call, { args, reserved }, context, settings);
}

async function useReserved<Call extends ToolCall>(
  call: Call,
  { args, reserved }: { readonly args: unknown; readonly reserved: bigint },
  context: ToolContext,
  { leftMs, fund, onEnd, onLate, goesOn }: UseSettings<Call>,
): Promise<FinishedCall<Call>> {
  const { bound } = call.tool;
  const timeoutMs = Math.max(1, Math.min(bound.timeoutMs ?? DEFAULT_TIMEOUT_MS, leftMs));
  const own = Cancellation.following(context.cancellation);
  const use = bound.run(args, { ...context, cancellation: own, signal: own.toAbortSignal() });
  const leave = (wasCounted: boolean): void => {
    const ended = lateOutcome(use, fund, reserved);
    goesOn(ended.then((outcome) => void (outcome && onLate?.(call, outcome, wasCounted))));
  };
  try {
    const outcome = await withinTime(use, own, timeoutMs);
    const finished = { call, outcome: outcome ?? failedUse('The tool took too long.'), wasRun: true };
    if (outcome !== null) fund.spent(reserved, costOf(outcome));
    onEnd?.(finished);
    if (outcome === null) leave(true);
    return finished;
  } catch (thrown) {
    if (own.aborted) leave(false);
    throw thrown;
  }
}

/**
 * Resolves with the result of a use, or with null if it took too long. In that case a running provider call is read on
 * for its cost.
 * @throws AppError request_timeout if the caller has disconnected, or the error that the tool threw
 */
async function withinTime(
  use: Promise<ToolOutcome>,
  cancellation: Cancellation,
  timeoutMs: number,
): Promise<ToolOutcome | null> {
  let isLate = false;
  const left = new Promise<null>((resolve) => {
    if (cancellation.aborted) resolve(null);
    cancellation.addEventListener('abort', () => resolve(null));
  });
  const timer = setTimeout(() => {
    isLate = true;
    cancellation.leave();
  }, timeoutMs);
  timer.unref();
  try {
    const outcome = await Promise.race([use, left]);
    if (outcome !== null) return outcome;
  } catch (thrown) {
    if (!cancellation.aborted) throw AppError.from(thrown);
  } finally {
    clearTimeout(timer);
  }
  if (!isLate) throw callCancelled();
  return null;
}

/** How long the cost of an abandoned use is awaited; longer than any leftover read. */
const LATEST_MS = 60_000;

/** Resolves with the result of an abandoned use; with its whole reservation if it never ends. */
async function lateOutcome(use: Promise<ToolOutcome>, fund: ToolFund, reserved: bigint): Promise<ToolOutcome | null> {
  const givenUp = Promise.withResolvers<ToolOutcome>();
  const timer = setTimeout(() => givenUp.resolve(failedUse('It did not end.', {}, reserved)), LATEST_MS).unref();
  try {
    // A use without a reservation costs nothing and is not awaited.
    const outcome = reserved === 0n ? null : await Promise.race([use, givenUp.promise]);
    fund.spent(reserved, outcome === null ? NOTHING : costOf(outcome));
    return outcome;
  } catch {
    // It threw because it was abandoned: no provider was working.
    fund.spent(reserved, NOTHING);
    return null;
  } finally {
    clearTimeout(timer);
    use.catch(() => undefined);
  }
}

const NOTHING: UseCost = { totalCost: 0n };

function costOf({ costPicoUsd, ownKey }: ToolOutcome): UseCost {
  return { totalCost: costPicoUsd, upstreamCost: ownKey?.upstreamCost };
}

const INVALID = Symbol('no JSON');

/** Returns the parsed arguments; an empty text means none. */
function parsedArguments(text: string): unknown {
  try {
    return text.trim() === '' ? {} : (JSON.parse(text) as unknown);
  } catch {
    // The model wrote the invalid arguments, so the model gets the error.
    return INVALID;
  }
}
