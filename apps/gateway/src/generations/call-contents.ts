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
   * Returns whether the workspace wants this call kept. Call it once per call, because calls are sampled at random. A
   * policy or preference that forbids keeping comes first. A list of key numbers matches no call: keys of this service
   * have no numbers.
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

  /** Returns the stream to read instead; what passes through it is kept when it ends. */
  listenTo(api: CallableApi, call: IncomingCall, { stream, endpoint, attempts }: StreamResult): AnswerStream {
    return new OverheardStream(stream, this.log.budget, ({ events, bytes, outcome }: Overheard) => {
      // The log counts the bytes itself, together with those of the request.
      this.log.budget.giveBack(bytes);
      const words = (): AnswerWords => wordsOfStream(api, Buffer.concat(events), endpoint);
      const error = outcome.error && failure(outcome.error, attempts.slice(0, -1), endpoint.provider.name);
      this.keep(api, call, { bytes, words, error });
    });
  }

  /** Keeps a call that a provider was asked for and none answered; a call refused before that is not kept. */
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

/**
 * Returns `error` of the interface, as the caller got it. Bodies of providers' errors are not kept, so `raw` is null.
 */
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
