import { parseJson, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { AppError } from '@libs/errors';
import { batchesOf } from '../../wire/ordered-calls';

/**
 * The upstream requires a purpose for the vectors, which OpenAI's API does not have. Most vectors are made
 * to be found by a search, so this is the default.
 */
const DEFAULT_INPUT_TYPE = 'search_document';

/** The upstream's purposes by the names that other providers use for them, in lower case. */
const INPUT_TYPES: Readonly<Record<string, string>> = {
  document: 'search_document',
  passage: 'search_document',
  retrieval_document: 'search_document',
  'retrieval.passage': 'search_document',
  query: 'search_query',
  retrieval_query: 'search_query',
  'retrieval.query': 'search_query',
};

/** Returns the purpose of the vectors in the upstream's words. Passes unknown purposes on for the upstream to judge. */
export function toInputType(asked: string = DEFAULT_INPUT_TYPE): string {
  const word = asked.toLowerCase();
  return Object.hasOwn(INPUT_TYPES, word) ? INPUT_TYPES[word]! : asked;
}

/** The body of one `POST /v2/embed` and the number of its inputs. */
export interface EmbedBatch {
  readonly body: Buffer;
  readonly inputs: number;
}

/**
 * Splits an embeddings body in OpenAI's form into the calls that it needs, in order.
 *
 * Always requests vectors as numbers, because the upstream does not document the bytes of its base64. Never truncates
 * an input: one that is too long is an error, as with other providers.
 * @throws AppError invalid_request for inputs that the upstream has no form for
 */
export function toEmbedBatches(body: Buffer, mostInputs: number): readonly EmbedBatch[] {
  const { model, input, input_type: inputType, dimensions } = objectOf(parseJson(body));
  const settings = {
    model,
    input_type: toInputType(stringOf(inputType)),
    embedding_types: ['float'],
    ...(typeof dimensions === 'number' && { output_dimension: dimensions }),
    truncate: 'NONE',
  };
  const inputs = typeof input === 'string' ? [input] : (input as readonly unknown[]);
  const isText = typeof inputs[0] === 'string';
  const written = isText ? inputs : inputs.map(toContent);
  return batchesOf(written, mostInputs).map((some) => {
    const text = JSON.stringify({ ...settings, [isText ? 'texts' : 'inputs']: some });
    return { body: Buffer.from(text), inputs: some.length };
  });
}

function toContent(input: unknown, index: number): object {
  const { content } = objectOf(input);
  if (!Array.isArray(content)) throw refuse('input', 'cannot be token ids for this model: send the text itself');
  return { content: objectsOf(content).map((part, at) => toPart(part, `input[${index}].content[${at}]`)) };
}

function toPart(part: JsonObject, path: string): object {
  if (part['type'] === 'text') return { type: 'text', text: part['text'] };
  if (part['type'] !== 'image_url') throw refuse(`${path}.type`, 'must be text or image_url for this model');
  const { url } = objectOf(part['image_url']);
  const isData = typeof url === 'string' && /^data:/i.test(url);
  if (!isData) throw refuse(`${path}.image_url.url`, 'must be a data URL for this model');
  return { type: 'image_url', image_url: { url } };
}

function refuse(param: string, problem: string): AppError {
  return new AppError('invalid_request', `${param} ${problem}`, { metadata: { param } });
}
