import { readFile, stat } from 'node:fs/promises';
import { AppError, systemCodeOf } from '@libs/errors';
import { isObject, type JsonObject } from '@libs/json';
import { LineCounter, parseDocument } from 'yaml';

export const MOST_DEPLOYMENTS = 10_000;
const MOST_BYTES = 8 * 1024 * 1024;
/** Uses of anchors; a config has few. */
const MOST_ALIASES = 1_000;

export interface LitellmConfig {
  readonly deployments: readonly unknown[];
  /** All sections except `model_list`. */
  readonly sections: JsonObject;
}

/** Reads the configuration of a LiteLLM proxy. @throws AppError, never with a value of the file, which has keys */
export async function readLitellmConfig(path: string): Promise<LitellmConfig> {
  const { model_list: list, ...sections } = documentOf(await textOf(path));
  if (list === undefined || list === null) throw unreadable('it has no model_list');
  if (!Array.isArray(list)) throw unreadable('model_list must be a list');
  if (list.length > MOST_DEPLOYMENTS) throw unreadable(`model_list has more than ${MOST_DEPLOYMENTS} entries`);
  return { deployments: list as readonly unknown[], sections };
}

async function textOf(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > MOST_BYTES) throw unreadable(`it has more than ${MOST_BYTES} bytes`);
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw unreadable(`it cannot be opened (${systemCodeOf(cause) ?? 'unknown error'})`, cause);
  }
}

function documentOf(text: string): JsonObject {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, merge: true, prettyErrors: false });
  const [error] = document.errors;
  if (error) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw unreadable(`it is not valid YAML at line ${line}, column ${col} (${error.code})`);
  }
  const value = plain(() => document.toJS({ maxAliasCount: MOST_ALIASES }) as unknown);
  if (!isObject(value)) throw unreadable('it must be a mapping with a model_list');
  return value;
}

function plain(read: () => unknown): unknown {
  try {
    return read();
  } catch (cause) {
    throw unreadable('an alias in it is unknown, circular or used too often', cause);
  }
}

function unreadable(what: string, cause?: unknown): AppError {
  return new AppError('invalid_request', 'The configuration of LiteLLM cannot be read', { internal: what, cause });
}
