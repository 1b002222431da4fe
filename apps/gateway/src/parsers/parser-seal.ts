import Module, { registerHooks } from 'node:module';
import { runInNewContext } from 'node:vm';

/** Of `process`, what Node and the parsers still ask for. It has no way to a file, a socket, a signal or a module. */
const KEPT_OF_PROCESS = new Set(
  (
    'version versions arch platform release features env argv argv0 execArgv hrtime nextTick emitWarning exit reallyExit ' +
    'permission exitCode _exiting _fatalException _events _eventsCount _maxListeners domain'
  ).split(' '),
);
/** Of what Node adds to the language, what parsers use and what reaches nothing outside the process. */
const KEPT_OF_NODE = new Set(
  (
    'process global console Buffer URL URLSearchParams TextEncoder TextDecoder DOMException AbortController ' +
    'AbortSignal Event EventTarget ReadableStream WritableStream TransformStream DecompressionStream Blob crypto ' +
    'navigator performance structuredClone queueMicrotask atob btoa setTimeout clearTimeout setInterval ' +
    'clearInterval setImmediate clearImmediate'
  ).split(' '),
);
/** Of the class of modules: what loads one, or sets aside what refuses to. It has members that cannot go. */
const LOADERS = ['_load', '_extensions', '_resolveFilename', 'registerHooks', 'register', 'createRequire', 'runMain'];
const LOADERS_OF_ONE = ['require', 'load', '_compile'];
/** Of the language: what only makes a fault of the engine easier to use. */
const DROPPED_OF_LANGUAGE = ['WebAssembly', 'SharedArrayBuffer', 'Atomics'];

/** Those that are there before parsers add theirs, without which they do not work. */
const GIVEN_GLOBALS = new Set(Reflect.ownKeys(globalThis));

/**
 * Gives up what a parser does not need: every right to read files, every module that is not yet loaded, and each object
 * through which code could reach a socket, a signal or a binding of Node. It lists what stays, so it also removes what a
 * new version of Node adds. Load this file before the parsers, and call it when they are loaded.
 *
 * @throws Error when something cannot be given up
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

/** Takes away all members of an object but those that are kept. */
function strip(holder: object, isKept: (name: string | symbol) => boolean): void {
  for (const name of Reflect.ownKeys(holder)) {
    if (isKept(name) || Reflect.deleteProperty(holder, name)) continue;
    throw new Error(`Parsers cannot give up ${String(name)}`);
  }
}
