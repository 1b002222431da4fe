import { randomUUID } from 'node:crypto';
import { objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { toArguments } from '../tool-input';

/** A part of the upstream's content that an answer can hold. */
export type Piece = (
  | { readonly kind: 'text' | 'thought'; readonly text: string }
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly arguments: string }
  | { readonly kind: 'image'; readonly url: string }
) & {
  readonly signature?: string;
  /** Position among the parts of the content. */
  readonly index: number;
};

/** Returns the pieces of a candidate's or chunk's content, without sound and code that ran at the upstream. */
export function readPieces(candidate: JsonObject): readonly Piece[] {
  return objectsOf(objectOf(candidate['content'])['parts']).flatMap((part, index) => {
    const read = readPart(part);
    const signature = stringOf(part['thoughtSignature']);
    return read === null ? [] : [{ ...read, index, ...(signature && { signature }) }];
  });
}

function readPart(part: JsonObject): Piece | null {
  const text = stringOf(part['text']);
  if (text !== undefined) return { kind: part['thought'] === true ? 'thought' : 'text', text, index: 0 };
  if (part['functionCall'] !== undefined) return readCall(objectOf(part['functionCall']));
  return part['inlineData'] === undefined || part['thought'] === true ? null : readImage(objectOf(part['inlineData']));
}

/** Older models give their calls no id. */
function readCall({ id, name, args }: JsonObject): Piece {
  return {
    kind: 'call',
    id: stringOf(id) || `call_${randomUUID()}`,
    name: stringOf(name) ?? '',
    arguments: toArguments(args),
    index: 0,
  };
}

function readImage({ mimeType, data }: JsonObject): Piece | null {
  const type = stringOf(mimeType) ?? '';
  const bytes = stringOf(data);
  return bytes === undefined || !type.startsWith('image/')
    ? null
    : { kind: 'image', url: `data:${type};base64,${bytes}`, index: 0 };
}
