import { findMediaLinkProblem, isBase64 } from '../links/media-links';
import { isNonEmptyString, isPlainObject } from '../validation/well-formed';

const MAX_INPUTS = 100_000;
const MAX_PARTS = 1_000;
const MAX_TOKEN = 10_000_000;

/**
 * Checks `input` of an embeddings request: a text, texts, token ids, lists of token ids, or multimodal inputs. All
 * elements must have one kind, and none may be empty.
 */
export function findEmbeddingsInputProblem(input: unknown): string | null {
  if (typeof input === 'string') return input === '' ? ' must not be empty' : null;
  if (!Array.isArray(input) || input.length === 0) return ' must be a non-empty string or array';
  if (input.length > MAX_INPUTS) return ` has more than ${MAX_INPUTS} elements`;
  const check = elementCheckFor(input[0]);
  if (check === null) return '[0] must be text, tokens or an object with content';
  for (let index = 0; index < input.length; index += 1) {
    const problem = check(input[index]);
    if (problem !== null) return `[${index}]${problem}`;
  }
  return null;
}

/** Returns how many embeddings an input asks for. */
export function countEmbeddingsInputs(input: string | readonly unknown[]): number {
  return typeof input === 'string' || typeof input[0] === 'number' ? 1 : input.length;
}

type Check = (value: unknown) => string | null;

const OTHER_KIND = ' must be a non-empty element of the same kind as the first';

function kind(fits: (value: unknown) => boolean): Check {
  return (value) => (fits(value) ? null : OTHER_KIND);
}

const TEXT = kind(isNonEmptyString);
const TOKEN = kind(isToken);
const TOKEN_LIST = kind((value) => Array.isArray(value) && value.length > 0 && value.every(isToken));

function elementCheckFor(first: unknown): Check | null {
  if (typeof first === 'string') return TEXT;
  if (typeof first === 'number') return TOKEN;
  if (Array.isArray(first)) return TOKEN_LIST;
  return isPlainObject(first) ? findContentProblem : null;
}

function isToken(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKEN;
}

function findContentProblem(element: unknown): string | null {
  if (!isPlainObject(element)) return OTHER_KIND;
  const { content } = element;
  if (!Array.isArray(content) || content.length === 0) return '.content must be a non-empty array of parts';
  if (content.length > MAX_PARTS) return `.content has more than ${MAX_PARTS} parts`;
  for (let index = 0; index < content.length; index += 1) {
    const problem = findPartProblem(content[index]);
    if (problem !== null) return `.content[${index}]${problem}`;
  }
  return null;
}

/** Checks for the value of a part, by type; the value is in the field named like the type. */
const PARTS: Readonly<Record<string, Check>> = {
  text: (text) => (isNonEmptyString(text) ? null : ' must be a non-empty string'),
  image_url: (image) => {
    const problem = findMediaLinkProblem(isPlainObject(image) ? image['url'] : undefined);
    return problem === null ? null : `.url${problem}`;
  },
  input_audio: findMediaProblem,
  input_video: findMediaProblem,
  input_file: findMediaProblem,
};

function findPartProblem(part: unknown): string | null {
  if (!isPlainObject(part)) return ' must be an object';
  const { type } = part;
  if (typeof type !== 'string' || !Object.hasOwn(PARTS, type)) {
    return `.type must be one of ${Object.keys(PARTS).join(', ')}`;
  }
  const problem = PARTS[type]!(part[type]);
  return problem === null ? null : `.${type}${problem}`;
}

/** Checks bytes in base64, or a link to them. */
function findMediaProblem(media: unknown): string | null {
  if (!isPlainObject(media)) return ' must be an object with data';
  const { data, format } = media;
  if (format !== undefined && !isNonEmptyString(format)) return '.format must be a non-empty string';
  if (typeof data === 'string' && isBase64(data)) return null;
  const problem = findMediaLinkProblem(data);
  return problem === null ? null : '.data must be whole base64 or a link to a public host';
}
