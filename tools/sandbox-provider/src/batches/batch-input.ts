import { isObject, textOf, type JsonObject } from '../http/json-members';

export const MAXIMUM_LINES = 50_000;
const MAXIMUM_ERRORS = 100;

export interface BatchLine {
  readonly customId: string;
  readonly body: JsonObject;
}

export interface BatchInputError {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  /** Counts from 1. */
  readonly line: number | null;
}

export interface BatchInput {
  readonly lines: readonly BatchLine[];
  readonly errors: readonly BatchInputError[];
}

/** Reads a batch's JSONL file. One bad line fails the batch, with every bad line named up to a hundred. */
export function readBatchInput(bytes: Buffer, endpoint: string): BatchInput {
  const lines: BatchLine[] = [];
  const errors: BatchInputError[] = [];
  const customIds = new Set<string>();
  const texts = bytes.toString('utf8').split('\n');
  for (const [index, text] of texts.entries()) {
    if (text.trim() === '') continue;
    const read = readLine(text, endpoint, customIds);
    if ('body' in read) lines.push(read);
    else errors.push({ ...read, line: index + 1 });
    if (errors.length === MAXIMUM_ERRORS) break;
  }
  if (lines.length + errors.length === 0) errors.push(problem('empty_file', 'The batch file holds no lines', null));
  if (lines.length > MAXIMUM_LINES) {
    errors.push(problem('too_many_lines', `A batch holds at most ${MAXIMUM_LINES} lines`, null));
  }
  return { lines, errors };
}

function readLine(text: string, endpoint: string, customIds: Set<string>): BatchLine | BatchInputError {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    return problem('invalid_json_line', 'This line is not parseable as valid JSON', null);
  }
  if (!isObject(line)) return problem('invalid_json_line', 'This line is not a JSON object', null);
  const customId = textOf(line.custom_id);
  if (customId === '') return problem('missing_required_parameter', "'custom_id' is missing", 'custom_id');
  if (customIds.has(customId)) return problem('duplicate_custom_id', "'custom_id' is repeated", 'custom_id');
  customIds.add(customId);
  if (line.method !== 'POST') return problem('invalid_method', "'method' must be POST", 'method');
  if (line.url !== endpoint) return problem('mismatched_endpoint', "'url' differs from the batch's endpoint", 'url');
  if (!isObject(line.body)) return problem('missing_required_parameter', "'body' must be an object", 'body');
  return { customId, body: line.body };
}

function problem(code: string, message: string, param: string | null): BatchInputError {
  return { code, message, param, line: null };
}
