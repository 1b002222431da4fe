import { AppError } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import {
  callCancelled,
  failedRouteOf,
  leftCallOf,
  sameRoute,
  type Cancellation,
  type InferenceResult,
  type PicoUsd,
  type RoutedRequest,
  type Served,
  type StreamResult,
} from '@libs/inference';
import type { GenerationRecorder } from '../generations/generation-recorder';
import type { CallOutcome, GenerationTicket } from '../generations/generation-ticket';
import type { IncomingCall } from '../generations/incoming-call';
import type { Admission } from '../limits/inference-limits';
import type { PluginRun } from '../plugins/plugin-run';
import type { LoopResult, LoopServed } from '../server-tools/server-tool-engine';
import { withoutPrompt, type RecordedCall } from './call-details';
import { causeOf, openingOf } from './call-facts';
import { answered, failed, streamed } from './call-outcome';
import { observeUpstream } from './upstream-time';

/** A call that is about to be recorded in the ledger. */
export interface Booking extends RecordedCall {
  readonly call: IncomingCall;
  readonly aim: { readonly request: RoutedRequest };
  /** Slug to record; never an alias. */
  readonly model: string;
  readonly streamed: boolean;
  /** Highest cost if the properties that its media state are true. */
  readonly holdPicoUsd: PicoUsd;
  /** Highest cost if its media misstate their properties; 0 if none of these were used. */
  readonly unprovenPicoUsd: PicoUsd;
  /** Null if no limit applies, or if the call was already admitted. */
  readonly admission: Admission | null;
  readonly plugins: PluginRun | null;
}

/**
 * The accounting of one call from its hold to its charge: `reach`, then either `settle` or `settleAtEnd`. `reach`
 * itself ends a failed call, so its hold never remains. Times are in milliseconds of `performance.now`.
 */
export class BookedCall {
  readonly ticket: GenerationTicket;
  #recorded: RecordedCall;
  readonly #abort: Cancellation;
  readonly #admission: Admission | null;
  readonly #plugins: PluginRun | null;
  readonly #startedMs: number;

  /** @throws AppError permission_denied for a key without a workspace; provider_overloaded */
  constructor(recorder: Pick<GenerationRecorder, 'open'>, booking: Booking) {
    const { api, call, aim, model, holdPicoUsd, unprovenPicoUsd, admission, plugins } = booking;
    const opening = openingOf(call, { api, model, streamed: booking.streamed });
    this.ticket = recorder.open(opening, holdPicoUsd, causeOf(call), unprovenPicoUsd);
    this.#recorded = { api, call, aim };
    this.#abort = call.abort;
    if (unprovenPicoUsd > holdPicoUsd) call.abort.leavePatiently();
    this.#admission = admission;
    this.#plugins = plugins;
    this.#startedMs = call.arrivedMs;
  }

  /** Why the payment for the call was refused; null if it was not. */
  get refusal(): AppError | null {
    return this.ticket.refusal;
  }

  /**
   * Asks once the call is admitted and its money is there, and aborts it when the money turns out not to be.
   *
   * @throws AppError why the call failed, with its route; it has been settled or withdrawn then
   */
  async reach<T extends Served>(ask: () => Promise<T>): Promise<T> {
    let isAdmitted = this.#admission === null;
    try {
      if (this.#admission !== null) await this.#admission.decided;
      isAdmitted = true;
      const { covered } = this.ticket;
      if (covered === null) this.ticket.onRefused(() => this.#abort.abort());
      else await covered;
      failpoint('call-covered');
      const result = await ask();
      const asked = result.attempts.at(-1);
      if (asked !== undefined) observeUpstream(this.#recorded.api, asked.providerSlug, asked.tookMs / 1_000);
      return result;
    } catch (thrown) {
      throw this.#fail(thrown, isAdmitted);
    }
  }

  /**
   * Charges a whole answer. Returns the error that the caller gets instead of the answer; null if it gets the answer.
   */
  settle(result: InferenceResult & Partial<LoopResult>): AppError | null {
    const interruption = result.interruption ?? (this.#abort.aborted ? callCancelled() : null);
    const endedMs = performance.now();
    const times = { startedMs: this.#startedMs, firstByteMs: endedMs, endedMs };
    this.#settle(answered(this.#recorded, { ...result, interruption }, times));
    return interruption && (this.refusal ?? interruption);
  }

  /** Charges a stream that has begun when it ends. Keeps nothing of its prompt, which may be long, until then. */
  settleAtEnd(result: StreamResult & Partial<LoopServed>): void {
    this.#recorded = withoutPrompt(this.#recorded);
    const firstByteMs = performance.now();
    void result.stream.outcome.then((ended) => {
      // A stream may also end between the disconnection and its first event.
      const isCancelled = this.#abort.aborted && ended.error === null;
      const outcome = isCancelled ? { ...ended, state: 'cancelled' as const } : ended;
      const times = { startedMs: this.#startedMs, firstByteMs, endedMs: performance.now() };
      this.#settle(streamed(this.#recorded, result, outcome, times));
    });
  }

  #settle(outcome: CallOutcome): void {
    failpoint('call-answered');
    this.#end(outcome, true);
  }

  /** Returns the error that the caller gets. */
  #fail(thrown: unknown, isAdmitted: boolean): AppError {
    const cause = AppError.from(thrown);
    const error = this.refusal ?? cause;
    const route = failedRouteOf(cause);
    const { attempts = [] } = route ?? {};
    const failure = { error, isCancelled: this.#abort.aborted, attempts, left: leftCallOf(cause) };
    const times = { startedMs: this.#startedMs, endedMs: performance.now() };
    // True if a provider was called. A request that was not admitted or could not be routed has called none, unless a
    // plugin did.
    const hasAsked = isAdmitted && (attempts.length > 0 || error.availability === undefined);
    this.#end(failed(this.#recorded, failure, times), hasAsked);
    return sameRoute(error, route);
  }

  /** Ends the call. Work of plugins is charged even if no provider was called. */
  #end(ended: CallOutcome, hasAsked: boolean): void {
    const outcome = this.#plugins === null ? ended : this.#plugins.charged(ended);
    this.#admission?.used(outcome.promptTokens + outcome.completionTokens);
    if (hasAsked || outcome.costPicoUsd > 0n) this.ticket.settle(outcome);
    else this.ticket.withdraw(outcome);
  }
}
