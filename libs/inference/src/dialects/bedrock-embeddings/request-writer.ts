import { parseJson, numberOf, objectOf, stringOf, type JsonObject } from '@libs/json';
import { CheckedObject } from '../checked-object';
import { batchesOf } from '../../wire/ordered-calls';
import type { Endpoint } from '../../catalogue/catalogue';
import type { EmbedBatch } from '../cohere-embeddings/request-writer';
import { modelsOf } from './traits';

/** The calls that an OpenAI-shaped embeddings request needs. */
export interface Invocations {
  readonly batches: readonly EmbedBatch[];
  readonly isBase64: boolean;
}

/**
 * Writes every text of a request in OpenAI's shape into as many calls as the model needs, in order.
 *
 * @throws AppError invalid_request for an input that is not text
 */
export function toInvocations(body: Buffer, endpoint: Endpoint): Invocations {
  const models = modelsOf(endpoint);
  const request = objectOf(parseJson(body));
  const wanted = { dimensions: numberOf(request['dimensions']), inputType: stringOf(request['input_type']) };
  return {
    batches: batchesOf(textsOf(request), models.mostTexts).map((texts) => ({
      body: Buffer.from(JSON.stringify(models.write(texts, wanted))),
      inputs: texts.length,
    })),
    isBase64: request['encoding_format'] === 'base64',
  };
}

function textsOf(request: JsonObject): readonly string[] {
  const { input } = request;
  const texts: unknown = typeof input === 'string' ? [input] : input;
  if (Array.isArray(texts) && texts.every((text) => typeof text === 'string')) return texts;
  throw new CheckedObject(request).refuse('input', 'must be text: this model takes no tokens');
}
