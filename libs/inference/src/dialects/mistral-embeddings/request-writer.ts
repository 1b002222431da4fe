import { JsonCursor, spliceMembers } from '@libs/json';
import { AppError } from '@libs/errors';
import { memberText, scanRequest } from '../request-members';

/** All fields that the upstream takes; it refuses a request with any other. */
const KNOWN = new Set(['model', 'input', 'encoding_format', 'output_dimension']);

/**
 * Writes an embeddings body in OpenAI's form for Mistral, which has the field `output_dimension` and accepts texts
 * only.
 * @throws AppError invalid_request for token ids and multimodal inputs
 */
export function toMistralEmbeddings(body: Buffer): Buffer {
  const request = scanRequest(body);
  const input = memberText(request, 'input');
  if (input !== undefined && !isText(new JsonCursor(input))) {
    throw new AppError('invalid_request', 'input must be text for this model: send the text itself', {
      metadata: { param: 'input' },
    });
  }
  const dimensions = memberText(request, 'dimensions');
  const isAsked = dimensions !== undefined && !new JsonCursor(dimensions).isNull();
  return spliceMembers(request, {
    set: isAsked ? { output_dimension: dimensions } : {},
    remove: request.members.map(({ key }) => key).filter((key) => !KNOWN.has(key)),
  });
}

/**
 * Returns whether the input is one text or a list that begins with one. All elements of a list are known to have one
 * type.
 */
function isText(cursor: JsonCursor): boolean {
  if (!cursor.isArray()) return cursor.isString();
  let startsWithText = false;
  cursor.readArray((index) => {
    if (index === 0) startsWithText = cursor.isString();
  });
  return startsWithText;
}
