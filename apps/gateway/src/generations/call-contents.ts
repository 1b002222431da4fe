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

/** Stores prompts and answers, if the operator turned that on. */
export class CallContents {
  constructor(
    private readonly log: ContentLog,
    /** Returns a random number from 0 (included) to 1 (excluded). */
    private readonly dice: () => number = Math.random,
  ) {}

  /**
   * Returns whether this call is to be stored for the workspace. Call it once per call, because calls are sampled at
   * random. A policy or preference that forbids storing has precedence. A filter by key numbers matches no call,
   * because keys of this service have no numbers.
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

  /** Returns a stream to read instead of this one; its content is stored when it ends. */
  listenTo(api: CallableApi, call: IncomingCall, { stream, endpoint, attempts }: StreamResult): AnswerStream {
    return new OverheardStream(stream, this.log.budget, ({ events, bytes, outcome }: Overheard) => {
      // The log counts the bytes again, together with those of the request.
      this.log.budget.giveBack(bytes);
      const words = (): AnswerWords => wordsOfStream(api, Buffer.concat(events), endpoint);
      const error = outcome.error && failure(outcome.error, attempts.slice(0, -1), endpoint.provider.name);
      this.keep(api, call, { bytes, words, error });
    });
  }

  /** Stores a call that was sent to a provider but not answered; a call refused before that is not stored. */
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

/** Returns the API's `error` field as the caller got it. Error bodies of providers are not stored, so `raw` is null. */
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
