import { SetMetadata, type CustomDecorator } from '@nestjs/common';
import type { JsonRules } from './parse-json';

const MEBIBYTE = 1024 * 1024;

/** 200 MB, counted as 200 · 2^20. */
export const MAX_STREAMED_BYTES = 200 * MEBIBYTE;
/** Room for pictures and sounds inside the JSON. */
const MAX_INFERENCE_BYTES = 32 * MEBIBYTE;
const MAX_PLAIN_BYTES = MEBIBYTE;

/** How the body of a route is taken in. */
export interface BodyRule {
  /**
   * `parsed` puts the object on `request.body`, `form` the `FormFields`; `streamed` and `upload` leave `request.raw`
   * unread; `empty` refuses what is neither absent nor an object without members.
   */
  readonly kind: 'parsed' | 'form' | 'streamed' | 'upload' | 'empty';
  readonly rules: JsonRules;
  readonly maxBytes: number;
  /** Whether what the body asks for costs money. */
  readonly isCharged?: boolean;
}

export const BODY_RULE = Symbol('body rule');

/** Every route without a decorator: a small JSON object, judged strictly. */
export const PLAIN_BODY: BodyRule = { kind: 'parsed', rules: 'strict', maxBytes: MAX_PLAIN_BYTES };

/**
 * The route reads the body itself from `request.raw`. It arrives with a checked head: JSON by its
 * Content-Type, and no longer than `MAX_STREAMED_BYTES` by its Content-Length, if it has one.
 */
export function StreamedBody(): CustomDecorator<symbol> {
  return SetMetadata(BODY_RULE, {
    kind: 'streamed',
    rules: 'lenient',
    maxBytes: MAX_STREAMED_BYTES,
    isCharged: true,
  } satisfies BodyRule);
}

/**
 * The route reads its body itself from `request.raw`: JSON, or a form with a file. Its head is checked, and
 * that it is no longer than `maxBytes` by its Content-Length, if it has one.
 */
export function UploadBody(maxBytes: number): CustomDecorator<symbol> {
  return SetMetadata(BODY_RULE, { kind: 'upload', rules: 'lenient', maxBytes, isCharged: true } satisfies BodyRule);
}

/**
 * The bytes go to a provider as they came: `request.rawBody` holds them in addition to the parsed `request.body`.
 *
 * @param isCharged false where the answer costs its caller nothing
 */
export function InferenceBody({ isCharged = true } = {}): CustomDecorator<symbol> {
  return SetMetadata(BODY_RULE, {
    kind: 'parsed',
    rules: 'lenient',
    maxBytes: MAX_INFERENCE_BYTES,
    isCharged,
  } satisfies BodyRule);
}

/** The body is a form, `application/x-www-form-urlencoded`. */
export function FormBody(maxBytes: number): CustomDecorator<symbol> {
  return SetMetadata(BODY_RULE, { kind: 'form', rules: 'strict', maxBytes } satisfies BodyRule);
}

/** The path says all: a body with members would ask for something that is not done, and is refused. */
export function NoBody(): CustomDecorator<symbol> {
  return SetMetadata(BODY_RULE, { kind: 'empty', rules: 'strict', maxBytes: MAX_PLAIN_BYTES } satisfies BodyRule);
}
