import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { systemCodeOf } from '@libs/errors';
import { CatalogueError } from './catalogue-error';
import type { CatalogueFile } from './catalogue-parser';

const EXTENSION = /^[^.].*\.ya?ml$/;
const MAX_FILES = 1_000;
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;

/** The files of a catalogue on disk, and a fingerprint that differs if any of them has changed. */
export interface CatalogueFiles {
  readonly paths: readonly string[];
  readonly mark: string;
}

/**
 * Finds the catalogue's files: the file itself, or all `*.yaml` and `*.yml` of the folder, sorted by name and without
 * hidden ones. Throws a CatalogueError if there is nothing to read or too much.
 */
export async function findCatalogueFiles(path: string): Promise<CatalogueFiles> {
  const root = await readable(path, () => stat(path));
  const candidates = root.isDirectory() ? await readable(path, () => listFolder(path)) : [path];
  const paths: string[] = [];
  const marks: string[] = [];
  let totalBytes = 0;
  for (const candidate of candidates) {
    const { size, ino, mtimeMs, ctimeMs, ...entry } = await readable(candidate, () => describe(candidate));
    if (!entry.isFile) continue;
    totalBytes += size;
    paths.push(candidate);
    marks.push([candidate, ino, size, mtimeMs, ctimeMs].join(' '));
  }
  if (paths.length === 0) throw problem(path, 'holds no *.yaml or *.yml file');
  if (paths.length > MAX_FILES) throw problem(path, `holds more than ${MAX_FILES} files`);
  if (totalBytes > MAX_TOTAL_BYTES) throw problem(path, `holds more than ${MAX_TOTAL_BYTES} bytes`);
  return { paths, mark: marks.join('\n') };
}

export async function readCatalogueFiles(paths: readonly string[]): Promise<readonly CatalogueFile[]> {
  const files: CatalogueFile[] = [];
  for (const path of paths) {
    files.push({ name: basename(path), text: await readable(path, () => readFile(path, 'utf8')) });
  }
  return files;
}

async function listFolder(path: string): Promise<string[]> {
  const names = await readdir(path);
  return names
    .filter((name) => EXTENSION.test(name))
    .toSorted()
    .map((name) => join(path, name));
}

async function describe(path: string) {
  const entry = await stat(path);
  const { size, ino, mtimeMs, ctimeMs } = entry;
  return { size, ino, mtimeMs, ctimeMs, isFile: entry.isFile() };
}

async function readable<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    const code = systemCodeOf(thrown) ?? 'unknown error';
    throw problem(path, `cannot be read (${code})`);
  }
}

function problem(path: string, message: string): CatalogueError {
  return new CatalogueError([{ file: path, path: '', message }]);
}
