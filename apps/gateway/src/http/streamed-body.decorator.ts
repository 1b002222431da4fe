import { SetMetadata, type CustomDecorator } from '@nestjs/common';
import type { JsonRules } from './parse-json';

const MEBIBYTE = 1024 * 1024;

/** 200 MB, counted as 200 · 2^20. */
export const MAX_STREAMED_BYTES = 200 * MEBIBYTE;
/** Allows pictures and sound inside the JSON. */
const MAX_INFERENCE_BYTES = 32 * MEBIBYTE;
const MAX_PLAIN_BYTES = MEBIBYTE;

/** How the body of a route is read. */
export interface BodyRule {
  /**
   * `parsed` stores the object in `request.body`, `form` the `FormFields`. `streamed` and `upload` leave `request.raw`
   * unread. `empty` refuses a body unless it is absent or an object without fields.
   */
  readonly kind: 'parsed' | 'form' | 'streamed' | 'upload' | 'empty';
  readonly rules: JsonRules;
  readonly maxBytes: number;
  /** True if requests of the route cost money. */
  readonly isCharged?: boolean;
}

export const BODY_RULE = Symbol('body rule');

/** The rule of POST, PUT and PATCH without a decorator: a small JSON object, strictly validated. */
export const PLAIN_BODY: BodyRule = { kind: 'parsed', rules: 'strict', maxBytes: MAX_PLAIN_BYTES };

/**
 * The route reads the body itself from `request.raw`. Its headers are checked before: JSON by its Content-Type, and at
 * most `MAX_STREAMED_BYTES` by its Content-Length, if it has one.
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
 * The route reads its body itself from `request.raw`: JSON, or a form with a file. Its headers are checked before,
 * including that its Content-Length, if any, is at most `maxBytes`.
 */
export function UploadBody(maxBytes: number): CustomDecorator<symbol> {
  return SetMetadata(BODY_RULE, { kind: 'upload', rules: 'lenient', maxBytes, isCharged: true } satisfies BodyRule);
}

/**
 * The original bytes are sent to a provider: `request.rawBody` holds them in addition to the parsed `request.body`.
 * @param isCharged false if the answer is free for the caller
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

/** The path says everything. A body with fields would ask for something that is not done, so it is refused. */
export const NO_BODY: BodyRule = { kind: 'empty', rules: 'strict', maxBytes: MAX_PLAIN_BYTES };

/** The route takes a POST without a body, see `NO_BODY`. */
export function NoBody(): CustomDecorator<symbol> {
  return SetMetadata(BODY_RULE, NO_BODY);
}
