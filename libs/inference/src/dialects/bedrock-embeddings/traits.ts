import { defined, objectOf, objectsOf, type JsonObject } from '@libs/json';
import { toInputType } from '../cohere-embeddings/request-writer';
import type { Endpoint } from '../../catalogue/catalogue';

interface Wanted {
  readonly dimensions: number | undefined;
  readonly inputType: string | undefined;
}

/** Requests and answers of one maker's models. */
export interface EmbeddingModels {
  readonly mostTexts: number;
  write(texts: readonly string[], wanted: Wanted): object;
  read(answer: JsonObject): readonly unknown[];
}

const TITAN: EmbeddingModels = {
  mostTexts: 1,
  write: ([inputText], { dimensions }) => defined({ inputText, dimensions }),
  read: ({ embedding }) => [embedding],
};

/** Nova's names for purposes, by Cohere's names. */
const NOVA_PURPOSES: Readonly<Record<string, string>> = {
  search_document: 'GENERIC_INDEX',
  search_query: 'GENERIC_RETRIEVAL',
  classification: 'CLASSIFICATION',
  clustering: 'CLUSTERING',
};

function toNovaPurpose(inputType: string | undefined): string {
  const purpose = toInputType(inputType);
  return Object.hasOwn(NOVA_PURPOSES, purpose) ? NOVA_PURPOSES[purpose]! : purpose;
}

const NOVA: EmbeddingModels = {
  mostTexts: 1,
  write: ([value], { dimensions, inputType }) => ({
    taskType: 'SINGLE_EMBEDDING',
    singleEmbeddingParams: defined({
      embeddingPurpose: toNovaPurpose(inputType),
      embeddingDimension: dimensions,
      text: { truncationMode: 'NONE', value },
    }),
  }),
  read: ({ embeddings }) => objectsOf(embeddings).map(({ embedding }) => embedding),
};

const COHERE: EmbeddingModels = {
  mostTexts: 96,
  write: (texts, { dimensions, inputType }) =>
    defined({
      texts,
      input_type: toInputType(inputType),
      truncate: 'NONE',
      embedding_types: ['float'],
      output_dimension: dimensions,
    }),
  read: ({ embeddings }) => {
    const vectors = Array.isArray(embeddings) ? embeddings : objectOf(embeddings)['float'];
    return Array.isArray(vectors) ? vectors : [];
  },
};

const MODELS: readonly (readonly [id: RegExp, models: EmbeddingModels])[] = [
  [/(^|[./])cohere\./, COHERE],
  [/(^|[./])amazon\.nova-/, NOVA],
];

/** Returns the maker's requests and answers for an endpoint's model. */
export function modelsOf({ upstreamModel }: Endpoint): EmbeddingModels {
  return MODELS.find(([id]) => id.test(upstreamModel))?.[1] ?? TITAN;
}
