import { BATCH_SUFFIX, type Architecture, type Endpoint, type Model } from './catalogue';
import type { ListedOverride, ListedPrices } from './listed-prices';
import type { ModelCard, ReasoningCard } from './model-card';
import { isStandardTier } from './endpoint-traits';

/** An entry of `GET /models` and `GET /embeddings/models`. */
export interface ModelEntry {
  readonly id: string;
  /** Fields that OpenAI's clients expect in a model, like the next one, `id` and `created`. */
  readonly object: 'model';
  /** The model's maker: the part of the id before the first slash. */
  readonly owned_by: string;
  readonly canonical_slug: string;
  readonly name: string;
  readonly description: string;
  /** Unix seconds. */
  readonly created: number;
  readonly context_length: number | null;
  readonly architecture: {
    readonly input_modalities: readonly string[];
    readonly output_modalities: readonly string[];
    /** Input and output types in one word, e.g. `text+image->text`. */
    readonly modality: string;
    readonly instruct_type: string | null;
    readonly tokenizer: string;
  };
  readonly pricing: ListedPricing;
  readonly supported_parameters: readonly string[];
  readonly top_provider: {
    readonly context_length: number | null;
    readonly is_moderated: boolean;
    readonly max_completion_tokens: number | null;
  };
  readonly per_request_limits: null;
  /** Default values of request parameters. */
  readonly default_parameters: Readonly<Record<string, number>> | null;
  /** The first day on which the model is no longer served, such as 2026-01-31. */
  readonly expiration_date: string | null;
  /** A day such as 2025-01-31. */
  readonly knowledge_cutoff: string | null;
  readonly supported_voices: readonly string[] | null;
  readonly hugging_face_id: string | null;
  readonly reasoning?: ReasoningCard;
  /** In the entry of an alias: the model that the alias names. */
  readonly alias_target?: { readonly slug: string; readonly name: string };
  readonly links: { readonly details: string };
}

/** Decimal strings in US dollars per token, request, image or second. The first four are always present. */
export interface ListedPricing {
  readonly prompt: string;
  readonly completion: string;
  readonly image: string;
  readonly request: string;
  readonly overrides?: readonly ListedOverride[];
  readonly [rate: string]: string | readonly ListedOverride[] | undefined;
}

/** APIs whose requests a batch may hold. */
const BATCH_APIS: readonly string[] = ['chat', 'responses', 'messages', 'embeddings'];

/** Returns the public entry of a model, with prices, context and limits of its first endpoint of the standard tier. */
export function toModelEntry(model: Model): ModelEntry {
  const endpoint = model.endpoints.find(isStandardTier) ?? model.endpoints[0];
  return entry(model, model.slug, endpoint, (endpoint) => endpoint.listedPricing);
}

/** Returns the entry `<slug>:batch` with batch prices, or null if no endpoint can serve a batch. */
export function toBatchModelEntry(model: Model): ModelEntry | null {
  const endpoint = model.endpoints.find(servesBatches);
  if (!endpoint) return null;
  return entry(model, model.slug + BATCH_SUFFIX, endpoint, ({ listedBatchPricing }) => listedBatchPricing);
}

export function isEmbeddingsModel(model: Model): boolean {
  return model.endpoints.some(({ apis }) => apis.includes('embeddings'));
}

export function toModality({ inputModalities, outputModalities }: Architecture): string {
  return `${inputModalities.join('+')}->${outputModalities.join('+')}`;
}

function servesBatches(endpoint: Endpoint): boolean {
  const { provider, apis } = endpoint;
  return provider.batch !== 'none' && isStandardTier(endpoint) && apis.some((api) => BATCH_APIS.includes(api));
}

function entry(
  model: Model,
  id: string,
  top: Endpoint | undefined,
  prices: (endpoint: Endpoint) => ListedPrices,
): ModelEntry {
  const { architecture, card } = model;
  return {
    id,
    object: 'model',
    owned_by: model.slug.split('/', 1)[0] ?? '',
    canonical_slug: model.slug,
    name: model.name,
    description: model.description,
    created: model.created,
    context_length: model.contextLength ?? top?.contextLength ?? null,
    architecture: {
      input_modalities: architecture.inputModalities,
      output_modalities: architecture.outputModalities,
      modality: toModality(architecture),
      instruct_type: architecture.instructType,
      tokenizer: architecture.tokenizer,
    },
    pricing: { prompt: '0', completion: '0', image: '0', request: '0', ...(top && prices(top)) },
    supported_parameters: model.supportedParameters,
    top_provider: {
      context_length: top?.contextLength ?? null,
      is_moderated: card.isModerated,
      max_completion_tokens: top?.maxCompletionTokens ?? null,
    },
    per_request_limits: null,
    expiration_date: model.expirationDate,
    knowledge_cutoff: model.knowledgeCutoff,
    ...cardMembers(card),
    links: { details: `/api/v1/models/${model.slug}/endpoints` },
  };
}

function cardMembers({ defaultParameters, supportedVoices, huggingFaceId, reasoning }: ModelCard) {
  return {
    default_parameters: defaultParameters,
    supported_voices: supportedVoices,
    hugging_face_id: huggingFaceId,
    ...(reasoning !== null && { reasoning }),
  };
}
