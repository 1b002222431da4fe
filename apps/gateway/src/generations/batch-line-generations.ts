import { readNumberedId } from '@libs/contracts';
import { ERROR_CODES, isErrorCode } from '@libs/errors';
import {
  API_OF_BATCH,
  endOfAnswer,
  wordsOfAnswer,
  type AnswerEnd,
  type CallableApi,
  type Catalogue,
  type Endpoint,
  type BatchEndpoint,
} from '@libs/inference';
import type { BatchLineView, BatchLineViewsRepository, WorkspaceTenant } from '@libs/persistence';
import { callerFacts } from './caller-facts';
import { contentOutput } from './call-contents';
import { contentInput } from './content-input';
import { generationEntry, type ContentEntry, type GenerationEntry, type ProviderNames } from './generation-entry';

/** Larger requests and answers are not parsed, because that would delay other calls. */
const MOST_READ_BYTES = 4 * 1024 * 1024;

const NOT_READ: AnswerEnd = { finishReason: null, nativeFinishReason: null };
const NO_WORDS = { text: null, reasoning: null, toolCalls: [] };

/** Not recorded for a batch line: when and how often a provider was called, and the line's media and audio parts. */
const NOT_KEPT = { num_media_prompt: null, num_input_audio_prompt: null, provider_responses: null } as const;

/** Shows batch lines as generations, from the stored data of their batches. */
export class BatchLineGenerations {
  constructor(
    private readonly lines: Pick<BatchLineViewsRepository, 'find'>,
    private readonly nameOf: ProviderNames,
    private readonly catalogue: () => Catalogue,
  ) {}

  /**
   * Returns the generation of a batch line; null unless the id is that of a line with an outcome, in a stored batch of
   * the tenant.
   */
  async get(id: string, tenant: WorkspaceTenant): Promise<GenerationEntry | null> {
    const piece = readNumberedId('gen-batch', 'batch', id);
    const line = piece && (await this.lines.find(id, piece, tenant, MOST_READ_BYTES));
    if (line === null) return null;
    const end = this.readBody(line, endOfAnswer) ?? NOT_READ;
    return { ...generationEntry(viewOf(id, line, end), (slug) => this.nameOf(slug) ?? slug), ...NOT_KEPT };
  }

  /** Returns the content of the line. It is stored as long as the batch, even if contents of calls are not stored. */
  async content(id: string, tenant: WorkspaceTenant): Promise<ContentEntry | null> {
    const piece = readNumberedId('gen-batch', 'batch', id);
    const line = piece && (await this.lines.find(id, piece, tenant, MOST_READ_BYTES));
    if (line === null) return null;
    const words = this.readBody(line, wordsOfAnswer) ?? NO_WORDS;
    return { input: inputOf(line), output: contentOutput(words), error: this.errorOf(line) };
  }

  private readBody<T>(line: BatchLineView, read: (api: CallableApi, body: Buffer, endpoint: Endpoint) => T): T | null {
    const endpoint = this.endpointOf(line);
    return line.body === null || endpoint === null ? null : read(apiOf(line), line.body, endpoint);
  }

  /**
   * Returns the batch's endpoint from the current catalogue. If it was removed, any endpoint will do: a result is in
   * the format of the caller's API, whichever endpoint answered.
   */
  private endpointOf({ model, provider, upstreamModel }: BatchLineView): Endpoint | null {
    const catalogue = this.catalogue();
    const endpoints = catalogue.findModel(model)?.endpoints ?? [];
    const own = endpoints.find((each) => each.provider.slug === provider && each.upstreamModel === upstreamModel);
    return own ?? catalogue.models().flatMap((each) => each.endpoints)[0] ?? null;
  }

  /** Returns the API's `error` field from the line's result. */
  private errorOf({ error, provider }: BatchLineView): object | null {
    if (error === null) return null;
    const name = this.nameOf(provider) ?? provider;
    const type = error.error_type;
    const status = isErrorCode(type) ? ERROR_CODES[type].status : null;
    return { message: error.message, status, provider_name: name, raw: null, previous_errors: [] };
  }
}

function apiOf({ endpoint }: BatchLineView): CallableApi {
  return API_OF_BATCH[endpoint as BatchEndpoint];
}

function inputOf(line: BatchLineView): unknown {
  return JSON.parse(contentInput(apiOf(line), requestOf(line), line.requestBytes));
}

/** Returns the body of the line; empty if it is too long to be read. */
function requestOf({ request }: BatchLineView): Readonly<Record<string, unknown>> {
  return request === null ? {} : (JSON.parse(request.toString()) as Readonly<Record<string, unknown>>);
}

function viewOf(id: string, line: BatchLineView, { finishReason, nativeFinishReason }: AnswerEnd) {
  const { upstreamCostUsd, requestId, serviceTier } = line;
  return {
    ...line,
    id,
    api: apiOf(line),
    streamed: false,
    state: 'settled' as const,
    upstreamId: null,
    outcome: line.error === null ? ('completed' as const) : ('failed' as const),
    finishReason,
    latencyMs: null,
    generationMs: null,
    details: {
      attempts: [],
      ...callerFacts(apiOf(line), requestOf(line)),
      ...(requestId !== null && { requestId }),
      ...(nativeFinishReason !== null && { nativeFinishReason }),
      ...(serviceTier !== null && { serviceTier }),
      ...(upstreamCostUsd !== null && { isByok: true as const, upstreamCostUsd }),
    },
  };
}
