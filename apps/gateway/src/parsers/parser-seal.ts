import Module, { registerHooks } from 'node:module';
import { runInNewContext } from 'node:vm';

/**
 * Properties of `process` that Node and the parsers still need. None of them gives access to a file, socket, signal or
 * module.
 */
const KEPT_OF_PROCESS = new Set(
  (
    'version versions arch platform release features env argv argv0 execArgv hrtime nextTick emitWarning exit reallyExit ' +
    'permission exitCode _exiting _fatalException _events _eventsCount _maxListeners domain'
  ).split(' '),
);
/** Globals added by Node that parsers use and that reach nothing outside the process. */
const KEPT_OF_NODE = new Set(
  (
    'process global console Buffer URL URLSearchParams TextEncoder TextDecoder DOMException AbortController ' +
    'AbortSignal Event EventTarget ReadableStream WritableStream TransformStream DecompressionStream Blob crypto ' +
    'navigator performance structuredClone queueMicrotask atob btoa setTimeout clearTimeout setInterval ' +
    'clearInterval setImmediate clearImmediate'
  ).split(' '),
);
/**
 * Functions of the module class that load a module or bypass the refusal to load one. Some of its properties cannot be
 * removed.
 */
const LOADERS = ['_load', '_extensions', '_resolveFilename', 'registerHooks', 'register', 'createRequire', 'runMain'];
const LOADERS_OF_ONE = ['require', 'load', '_compile'];
/** Globals of the language that only make engine bugs easier to exploit. */
const DROPPED_OF_LANGUAGE = ['WebAssembly', 'SharedArrayBuffer', 'Atomics'];

/** The globals that exist before parsers add their own, which the parsers need. */
const GIVEN_GLOBALS = new Set(Reflect.ownKeys(globalThis));

/**
 * Removes everything that a parser does not need: permission to read files, modules that are not loaded yet, and each
 * object that gives access to a socket, a signal or a binding of Node. It lists what is kept, so it also removes what a
 * new version of Node adds. Load this file before the parsers, and call it when they are loaded.
 * @throws Error if something cannot be removed
 */
export function seal(): void {
  const language = new Set(runInNewContext('Reflect.ownKeys(globalThis)') as PropertyKey[]);
  for (const name of DROPPED_OF_LANGUAGE) language.delete(name);
  const { permission } = process as unknown as { permission?: { drop(scope: string): void } };
  registerHooks({
    resolve: () => {
      throw new Error('Parsers load no modules');
    },
  });
  strip(Module, (name) => !LOADERS.includes(String(name)));
  strip(Module.prototype, (name) => !LOADERS_OF_ONE.includes(String(name)));
  const isOfParsers = (name: string | symbol): boolean => typeof name === 'string' && !GIVEN_GLOBALS.has(name);
  strip(globalThis, (name) => language.has(name) || KEPT_OF_NODE.has(String(name)) || isOfParsers(name));
  strip(process, (name) => typeof name === 'symbol' || KEPT_OF_PROCESS.has(name));
  permission?.drop('fs.read');
}

/** Removes all properties of an object except those that are kept. */
function strip(holder: object, isKept: (name: string | symbol) => boolean): void {
  for (const name of Reflect.ownKeys(holder)) {
    if (isKept(name) || Reflect.deleteProperty(holder, name)) continue;
    throw new Error(`Parsers cannot give up ${String(name)}`);
  }
}
