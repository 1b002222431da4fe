import { dayOfId } from '@libs/contracts';
import { toEnvelope, type AppError } from '@libs/errors';
import {
  failedRouteOf,
  forbidsKeeping,
  readRoutePolicies,
  wordsOfAnswer,
  wordsOfStream,
  type AnswerStream,
  type AnswerWords,
  type Attempt,
  type CallableApi,
  type InferenceResult,
  type StreamResult,
} from '@libs/inference';
import type { IncomingCall } from './incoming-call';
import { beginningOf, contentInput } from './content-input';
import type { ContentLog } from './content-log';
import { OverheardStream, type Overheard } from './overheard-stream';

const NOTHING_SAID: AnswerWords = { text: null, reasoning: null, toolCalls: [] };

/** Keeps what is asked and answered, where the operator wants that. */
export class CallContents {
  constructor(
    private readonly log: ContentLog,
    /** From 0 to below 1. */
    private readonly dice: () => number = Math.random,
  ) {}

  /**
   * Whether this call is one of those that its workspace wants kept, which is asked once per call. A policy or a
   * preference by which nothing may be kept goes before that. A list of keys by their numbers lets no call in: keys of
   * this service have none.
   */
  isWanted(call: IncomingCall): boolean {
    const { settings } = call.caller;
    if (forbidsKeeping(call.parsed, readRoutePolicies(call.caller.policies ?? []))) return false;
    if (settings === undefined) return true;
    const { is_observability_io_logging_enabled: isOn = true, io_logging_sampling_rate: share = 1 } = settings;
    return isOn && settings.io_logging_api_key_ids === undefined && (share === 1 || this.dice() < share);
  }

  answered(api: CallableApi, call: IncomingCall, { body, endpoint }: InferenceResult): void {
    this.keep(api, call, { bytes: body.length, words: () => wordsOfAnswer(api, body, endpoint), error: null });
  }

  /** The stream to read instead: what passes through it is kept when it is over. */
  listenTo(api: CallableApi, call: IncomingCall, { stream, endpoint, attempts }: StreamResult): AnswerStream {
    return new OverheardStream(stream, this.log.budget, ({ events, bytes, outcome }: Overheard) => {
      // The log counts the bytes itself, together with those of the request.
      this.log.budget.giveBack(bytes);
      const words = (): AnswerWords => wordsOfStream(api, Buffer.concat(events), endpoint);
      const error = outcome.error && failure(outcome.error, attempts.slice(0, -1), endpoint.provider.name);
      this.keep(api, call, { bytes, words, error });
    });
  }

  /** A call that some provider was asked for and none answered; what was refused before that is not kept. */
  failed(api: CallableApi, call: IncomingCall, error: AppError): void {
    const attempts = failedRouteOf(error)?.attempts ?? [];
    const last = attempts.at(-1);
    if (last === undefined) return;
    const told = failure(error, attempts.slice(0, -1), last.providerName);
    this.keep(api, call, { bytes: 0, words: () => NOTHING_SAID, error: told });
  }

  private keep(
    api: CallableApi,
    { generationId, caller, body, parsed }: IncomingCall,
    { bytes, words, error }: { bytes: number; words: () => AnswerWords; error: object | null },
  ): void {
    const { organizationId, workspaceId } = caller;
    const createdOn = dayOfId(generationId);
    if (workspaceId === null || createdOn === null) return;
    this.log.add({
      bytes: body.length + bytes,
      render: () => ({
        generationId,
        createdOn,
        organizationId,
        workspaceId,
        input: contentInput(api, parsed as Readonly<Record<string, unknown>>, body.length),
        output: JSON.stringify(contentOutput(words())),
        error: error && JSON.stringify(error),
      }),
    });
  }
}

/** `output` of the interface; `tool_calls` is ours. */
export function contentOutput({ text, reasoning, toolCalls }: AnswerWords): object {
  return {
    completion: text && beginningOf(text),
    reasoning: reasoning && beginningOf(reasoning),
    ...(toolCalls.length > 0 && {
      tool_calls: toolCalls.map((call) => ({ ...call, arguments: beginningOf(call.arguments) })),
    }),
  };
}

/** `error` of the interface, as the caller was told. Bodies of providers' errors are not kept, so `raw` is null. */
function failure(error: AppError, before: readonly Attempt[], providerName: string): object {
  return {
    message: toEnvelope(error).error.message,
    status: error.status,
    provider_name: providerName,
    raw: null,
    previous_errors: before
      .filter(({ errorCode }) => errorCode !== null)
      .map((attempt) => ({
        code: attempt.status,
        message: attempt.errorCode,
        provider_name: attempt.providerName,
        raw: null,
      })),
  };
}
