import { AppError } from '@libs/errors';

/**
 * The parts of an error that a log line contains. Fields that a library added to it (requests, headers, rows) are left
 * out.
 */
export interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  /** Set for an AppError: the part that the caller did not see. */
  readonly internal?: string;
  readonly stack?: string;
  readonly cause?: LoggedError;
  readonly errors?: readonly LoggedError[];
}

const MAX_TEXT = 4_096;
const MAX_DEPTH = 5;
const MAX_ERRORS = 5;

export function describeError(thrown: unknown, depth = 0): LoggedError {
  if (!(thrown instanceof Error)) return { type: typeof thrown, message: clip(printThrown(thrown)) };
  return {
    type: thrown.name,
    message: clip(messageOf(thrown)),
    ...describeCode(thrown),
    ...(thrown instanceof AppError && thrown.internal !== undefined && { internal: clip(thrown.internal) }),
    ...(thrown.stack !== undefined && { stack: clip(stackOf(thrown, thrown.stack)) }),
    ...(depth < MAX_DEPTH && describeCauses(thrown, depth + 1)),
  };
}

/** Replaces the message of a JSON syntax error: it quotes the text, which may be an answer or a request. */
const OF_SYNTAX = 'The text has no valid syntax';
/** Replaces the message of an error that has a provider's own words: they may repeat the prompt. */
const OF_PROVIDER = 'The provider refused the request';

function messageOf(error: Error): string {
  return replacementOf(error) ?? error.message;
}

function stackOf(error: Error, stack: string): string {
  const replacement = replacementOf(error);
  return replacement === null || error.message === '' ? stack : stack.replaceAll(error.message, replacement);
}

function replacementOf(error: Error): string | null {
  if (error.name === 'SyntaxError') return OF_SYNTAX;
  // Errors of the gateway's own name no provider; with a 5xx the words are the gateway's.
  const isOfProvider = error instanceof AppError && error.metadata?.['provider_name'] !== undefined;
  return isOfProvider && error.status < 500 ? OF_PROVIDER : null;
}

function describeCode(error: Error): { code?: string } {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' || typeof code === 'number' ? { code: clip(String(code)) } : {};
}

function describeCauses(error: Error, depth: number): Pick<LoggedError, 'cause' | 'errors'> {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors.slice(0, MAX_ERRORS) : [];
  return {
    ...(error.cause !== undefined && { cause: describeError(error.cause, depth) }),
    ...(errors.length > 0 && { errors: errors.map((each) => describeError(each, depth)) }),
  };
}

/** A thrown object may contain anything, so only its type is logged. */
function printThrown(thrown: unknown): string {
  return typeof thrown === 'object' && thrown !== null ? 'an object that is no Error was thrown' : String(thrown);
}

/** Long texts of other systems must not fill the logs. */
export function clip(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text;
}
