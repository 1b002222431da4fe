import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Catalogue, type ParseOptions, parseCatalogue } from './catalogue';
import { findCatalogueFiles, readCatalogueFiles } from './catalogue-files';

export type CatalogueListener = (catalogue: Catalogue) => void;

export interface CatalogueSourceOptions extends Required<ParseOptions> {
  /** Receives the reason why a changed catalogue was rejected; the previous one stays in use. */
  readonly onProblem: (problem: unknown) => void;
  /** Time without further changes before the files are read. */
  readonly debounceMs?: number;
  /** Interval at which the files are checked without a notice from the file system. */
  readonly checkEveryMs?: number;
}

const DEFAULT_DEBOUNCE_MS = 100;
const DEFAULT_CHECK_EVERY_MS = 2_000;
/** A reload is delayed by at most this many `debounceMs` if changes keep coming. */
const MAX_DEBOUNCES = 10;

/**
 * The catalogue of a file or folder, reloaded when it changes.
 *
 * A notice of the file system triggers a reload at once. Notices can get lost (network file systems, a folder that was
 * moved away and replaced), so the files' sizes and times are also compared every few seconds. The folder is watched,
 * even for a single file, because files are usually replaced and rarely written in place.
 *
 * `current()` is always a catalogue that was valid as a whole. A catalogue that cannot be read or parsed is reported
 * once to `onProblem` and changes nothing. If the folder cannot be watched, that is reported too, and the comparison
 * continues without notices.
 */
export class CatalogueSource {
  readonly #path: string;
  readonly #options: CatalogueSourceOptions;
  readonly #listeners = new Set<CatalogueListener>();
  #current: Catalogue | null = null;
  #seenMark = '';
  #watcher: FSWatcher | null = null;
  #watchedFolder = '';
  #debounce: NodeJS.Timeout | null = null;
  #firstNoticeAt = 0;
  #check: NodeJS.Timeout | null = null;
  #running: Promise<boolean> | null = null;
  #queued: Promise<boolean> | null = null;
  #closed = false;

  constructor(path: string, options: CatalogueSourceOptions) {
    this.#path = path;
    this.#options = options;
  }

  /** The catalogue in force. */
  current(): Catalogue {
    if (!this.#current) throw new Error('the catalogue source was not started');
    return this.#current;
  }

  /** Loads the catalogue and begins to follow its changes. Throws a CatalogueError if the first load fails. */
  async start(): Promise<void> {
    this.#current = await this.#read();
    await this.#followFolder();
    this.#scheduleCheck();
  }

  /**
   * Reads the files now, e.g. on SIGHUP. Returns false if they were rejected; `onProblem` was then called. Calls during
   * a reload share one further reload and its result.
   */
  reload(): Promise<boolean> {
    if (!this.#running) {
      this.#running = this.#load().finally(() => {
        this.#running = null;
      });
      return this.#running;
    }
    this.#queued ??= this.#running.then(() => {
      this.#queued = null;
      return this.reload();
    });
    return this.#queued;
  }

  /** Calls the listener with every new catalogue whose content differs from the previous one. */
  onChange(listener: CatalogueListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stops following. A running reload has no effect; `current()` can still be called. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#debounce) clearTimeout(this.#debounce);
    if (this.#check) clearTimeout(this.#check);
    this.#watcher?.close();
    this.#listeners.clear();
    await (this.#queued ?? this.#running);
  }

  async #read(): Promise<Catalogue> {
    const { paths, mark } = await findCatalogueFiles(this.#path).catch((problem: Error) => {
      this.#seenMark = problem.message;
      throw problem;
    });
    this.#seenMark = mark;
    return parseCatalogue(await readCatalogueFiles(paths), this.#options);
  }

  async #load(): Promise<boolean> {
    if (this.#closed) return false;
    try {
      const next = await this.#read();
      if (this.#closed) return false;
      if (next.hash !== this.#current?.hash) this.#replace(next);
      return true;
    } catch (problem) {
      if (!this.#closed) this.#options.onProblem(problem);
      return false;
    }
  }

  #replace(next: Catalogue): void {
    this.#current = next;
    for (const listener of this.#listeners) {
      try {
        listener(next);
      } catch (problem) {
        this.#options.onProblem(problem);
      }
    }
  }

  /** Watches the folder that holds the catalogue; watches again if another folder replaced it. */
  async #followFolder(): Promise<void> {
    const { folder, isFile } = await this.#folder();
    const identity = await identify(folder);
    if (this.#closed || identity === this.#watchedFolder) return;
    this.#watcher?.close();
    this.#watcher = null;
    this.#watchedFolder = identity;
    if (identity === '') return;
    const name = basename(this.#path);
    try {
      this.#watcher = watch(folder, { persistent: false }, (_event, changed) => {
        const concerns = !isFile || changed === null || changed === name || changed.startsWith('..');
        if (concerns) this.#notice();
      });
      this.#watcher.on('error', (problem) => this.#options.onProblem(problem));
    } catch (problem) {
      this.#options.onProblem(problem);
    }
  }

  async #folder(): Promise<{ folder: string; isFile: boolean }> {
    const entry = await stat(this.#path).catch(() => null);
    return entry?.isFile() ? { folder: dirname(this.#path), isFile: true } : { folder: this.#path, isFile: false };
  }

  #notice(): void {
    if (this.#closed) return;
    const quietMs = this.#options.debounceMs ?? DEFAULT_DEBOUNCE_MS;
    const now = performance.now();
    if (!this.#debounce) this.#firstNoticeAt = now;
    else clearTimeout(this.#debounce);
    const latestMs = this.#firstNoticeAt + MAX_DEBOUNCES * quietMs - now;
    this.#debounce = setTimeout(
      () => {
        this.#debounce = null;
        void this.reload();
      },
      Math.max(0, Math.min(quietMs, latestMs)),
    ).unref();
  }

  #scheduleCheck(): void {
    if (this.#closed) return;
    const everyMs = this.#options.checkEveryMs ?? DEFAULT_CHECK_EVERY_MS;
    this.#check = setTimeout(() => void this.#compare().finally(() => this.#scheduleCheck()), everyMs).unref();
  }

  async #compare(): Promise<void> {
    const mark = await findCatalogueFiles(this.#path).then(
      (files) => files.mark,
      (problem: Error) => problem.message,
    );
    if (mark !== this.#seenMark) {
      this.#seenMark = mark;
      await this.reload();
    }
    await this.#followFolder();
  }
}

/** Returns device and inode of a folder; an empty text if it does not exist. */
async function identify(folder: string): Promise<string> {
  const entry = await stat(folder).catch(() => null);
  return entry ? `${entry.dev}:${entry.ino}` : '';
}
