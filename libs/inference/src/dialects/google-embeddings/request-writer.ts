import { parseJson, isObject, objectOf } from '@libs/json';
import { AppError } from '@libs/errors';
import { CheckedObject } from '../checked-object';
import { writeMedia, writeAudio, type WirePart } from '../google-generate-content';
import { readMediaUrl } from '../../model/media-url';
import type { Endpoint } from '../../catalogue/catalogue';

/** The fields of an embeddings request in OpenAI's form that Google's APIs support. */
export interface EmbeddingsRequest {
  /** One content for each input; the parts have the form of the Gemini API. */
  readonly inputs: readonly (readonly WirePart[])[];
  readonly dimensions: number | undefined;
  /** Purpose of the vectors; undefined also if each input states its own. */
  readonly taskType: string | undefined;
  readonly isBase64: boolean;
}

/** Google's names for the purposes of vectors, by the names that callers use. */
const TASK_TYPES: Readonly<Record<string, string>> = {
  query: 'RETRIEVAL_QUERY',
  search_query: 'RETRIEVAL_QUERY',
  retrieval_query: 'RETRIEVAL_QUERY',
  document: 'RETRIEVAL_DOCUMENT',
  passage: 'RETRIEVAL_DOCUMENT',
  search_document: 'RETRIEVAL_DOCUMENT',
  retrieval_document: 'RETRIEVAL_DOCUMENT',
  classification: 'CLASSIFICATION',
  clustering: 'CLUSTERING',
  semantic_similarity: 'SEMANTIC_SIMILARITY',
  question_answering: 'QUESTION_ANSWERING',
  fact_verification: 'FACT_VERIFICATION',
  code_retrieval_query: 'CODE_RETRIEVAL_QUERY',
};

/** Reads a request. @throws AppError invalid_request for token ids and for inputs without content */
export function readEmbeddingsRequest(body: Buffer, endpoint: Endpoint): EmbeddingsRequest {
  const root = new CheckedObject(objectOf(parseJson(body)));
  const purpose = root.string('input_type')?.toLowerCase() ?? '';
  const taskType = Object.hasOwn(TASK_TYPES, purpose) ? TASK_TYPES[purpose] : undefined;
  const inputs = inputsOf(root, endpoint);
  const isSaid = taskType !== undefined && readsPurposes(endpoint);
  return {
    inputs: isSaid ? inputs.map((parts) => withPurpose(parts, taskType)) : inputs,
    dimensions: root.integer('dimensions'),
    taskType: isSaid ? undefined : taskType,
    isBase64: root.string('encoding_format') === 'base64',
  };
}

/** Text prefixes that state the purpose of a vector to these models. */
const BEGINNINGS: Readonly<Record<string, string>> = {
  RETRIEVAL_QUERY: 'task: search result | query: ',
  RETRIEVAL_DOCUMENT: 'title: none | text: ',
  CLASSIFICATION: 'task: classification | query: ',
  CLUSTERING: 'task: clustering | query: ',
  SEMANTIC_SIMILARITY: 'task: sentence similarity | query: ',
  QUESTION_ANSWERING: 'task: question answering | query: ',
  FACT_VERIFICATION: 'task: fact checking | query: ',
  CODE_RETRIEVAL_QUERY: 'task: code retrieval | query: ',
};

/**
 * Returns whether the model expects the purpose as a prefix of the text instead of a task type. True from the second
 * model of the family on.
 */
export function readsPurposes({ upstreamModel }: Endpoint): boolean {
  return upstreamModel.includes('gemini') && !upstreamModel.includes('gemini-embedding-001');
}

/** Adds the purpose to texts; media cannot carry one. */
function withPurpose(parts: readonly WirePart[], taskType: string): readonly WirePart[] {
  const [only] = parts;
  const isText = parts.length === 1 && typeof only?.['text'] === 'string';
  return isText ? [{ text: `${BEGINNINGS[taskType]}${String(only['text'])}` }] : parts;
}

function inputsOf(root: CheckedObject, endpoint: Endpoint): readonly (readonly WirePart[])[] {
  const input = root.value('input');
  const list = Array.isArray(input) ? input : [input];
  return list.map((one, index) => {
    if (typeof one === 'string') return [{ text: one }];
    if (!isObject(one)) throw root.refuse('input', 'must be text: this model takes no tokens');
    return CheckedObject.of(one, `input[${index}]`)
      .objects('content')
      .map((part) => partOf(part, endpoint));
  });
}

function partOf(part: CheckedObject, endpoint: Endpoint): WirePart {
  const type = part.requiredString('type');
  const written = Object.hasOwn(PARTS, type) ? PARTS[type]!(part, endpoint) : null;
  if (written === null) throw part.refuse('type', 'is not one that this model takes');
  return written;
}

const PARTS: Readonly<Record<string, (part: CheckedObject, endpoint: Endpoint) => WirePart | null>> = {
  text: (part) => ({ text: part.requiredString('text') }),
  image_url: (part, endpoint) =>
    writeMedia(readMediaUrl(part.requiredObject('image_url').requiredString('url')), 'image', endpoint),
  input_audio: (part) => {
    const audio = part.requiredObject('input_audio');
    return writeAudio(audio.requiredString('data'), audio.string('format') ?? 'wav');
  },
  input_video: (part, endpoint) => mediaOf(part.requiredObject('input_video'), 'video', endpoint),
  input_file: (part, endpoint) => mediaOf(part.requiredObject('input_file'), 'file', endpoint),
};

/** Returns media from a link, a data URL, or bare base64 with its format in `format`. */
function mediaOf(media: CheckedObject, kind: 'video' | 'file', endpoint: Endpoint): WirePart | null {
  const data = media.requiredString('data');
  const source = readMediaUrl(data);
  if (source.kind === 'base64' || /^[a-z][a-z0-9+.-]{1,15}:/i.test(data)) return writeMedia(source, kind, endpoint);
  const format = media.string('format');
  const filename = format === undefined ? undefined : `media.${format}`;
  return writeMedia({ kind: 'base64', mediaType: null, data }, kind, endpoint, filename);
}

/** Refuses media for models that embed text alone. @throws AppError invalid_request */
export function textOf(parts: readonly WirePart[]): string {
  return parts
    .map(({ text }) => {
      if (typeof text === 'string') return text;
      throw new AppError('invalid_request', 'input may hold text only: this model takes no media');
    })
    .join('');
}
