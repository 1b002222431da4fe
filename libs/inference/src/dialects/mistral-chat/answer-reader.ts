import { isObject, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { Endpoint } from '../../catalogue/catalogue';
import type { CanonicalAnswer } from '../../model/canonical-answer';
import { readAnswer as readChatAnswer } from '../openai-chat/answer-reader';

/** A thought or a text of a model, in the fields that upstreams of OpenAI's API use for them. */
type Piece = { readonly reasoning: string } | { readonly content: string };

/** Returns the thoughts and texts of a content that is a list of chunks, in order; null for any other content. */
export function piecesOf(content: unknown): readonly Piece[] | null {
  if (!Array.isArray(content)) return null;
  return objectsOf(content).flatMap((chunk): readonly Piece[] => {
    if (chunk['type'] === 'thinking') return [{ reasoning: thoughtOf(chunk['thinking']) }];
    return chunk['type'] === 'text' ? [{ content: stringOf(chunk['text']) ?? '' }] : [];
  });
}

/** Reads a thought: a text, or a list of text chunks and references to what the model read. */
function thoughtOf(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking;
  return objectsOf(thinking)
    .map((chunk) => stringOf(chunk['text']) ?? '')
    .join('');
}

/**
 * Reads a whole answer in OpenAI's form.
 * @throws AppError provider_unavailable, or the error that the answer contains
 */
export function readAnswer(body: unknown, endpoint: Endpoint): CanonicalAnswer {
  return readChatAnswer(plainAnswer(body), endpoint);
}

/** Replaces lists of content in a whole answer: the thoughts first, as in other APIs, then the text. */
function plainAnswer(body: unknown): unknown {
  if (!isObject(body) || !Array.isArray(body['choices'])) return plainError(body);
  const choices = objectsOf(body['choices']).map((choice) => {
    const message = objectOf(choice['message']);
    const pieces = piecesOf(message['content']);
    return pieces === null ? choice : { ...choice, message: { ...message, ...joined(pieces) } };
  });
  return { ...body, choices };
}

function joined(pieces: readonly Piece[]): JsonObject {
  const reasoning = pieces.map((piece) => ('reasoning' in piece ? piece.reasoning : '')).join('');
  const content = pieces.map((piece) => ('content' in piece ? piece.content : '')).join('');
  return { content, ...(reasoning !== '' && { reasoning }) };
}

/** Wraps an error in the field `error`, where other upstreams have it. */
export function plainError(body: unknown): unknown {
  return isObject(body) && body['object'] === 'error' ? { error: body } : body;
}
