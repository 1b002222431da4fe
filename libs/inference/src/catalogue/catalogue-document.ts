import { LineCounter, parseDocument } from 'yaml';
import { isObject } from '@libs/json';
import type { CatalogueProblem } from './catalogue-error';

/** The kind of a scalar value. `blank` replaces an invalid value, so that reading can continue. */
export interface Kind<T> {
  readonly expected: string;
  readonly blank: T;
  accepts(value: unknown): value is T;
}

/**
 * A value of a catalogue file together with its position. Reading never throws: a missing, unknown or mistyped value is
 * added to one list of problems, and a blank value is returned in its place.
 */
export class Located {
  constructor(
    readonly value: unknown,
    readonly file: string,
    readonly path: string,
    private readonly problems: CatalogueProblem[],
  ) {}

  report(message: string): void {
    this.problems.push({ file: this.file, path: this.path, message });
  }

  /** YAML's empty value counts as absent. */
  get absent(): boolean {
    return this.value === undefined || this.value === null;
  }

  /** Reads a scalar; required unless there is a fallback. */
  scalar<T, F = T>(kind: Kind<T>, fallback?: F): T | F {
    if (this.absent) {
      if (fallback !== undefined) return fallback;
      this.report('is missing');
      return kind.blank;
    }
    if (kind.accepts(this.value)) return this.value;
    this.report(`must be ${kind.expected}`);
    return kind.blank;
  }

  /** Reads a list of scalars without repetition and with at least one entry; required unless there is a fallback. */
  scalars<T>(kind: Kind<T>, fallback?: readonly T[]): readonly T[] {
    if (this.absent && fallback !== undefined) return fallback;
    const entries = this.entries();
    const values = new Set(entries.map((entry) => entry.scalar(kind)));
    if (new Set(entries.map(({ value }) => value)).size < entries.length) this.report('must not name anything twice');
    return [...values];
  }

  /** Reads the entries of a required list that must not be empty. */
  entries(): readonly Located[] {
    const list = this.list();
    if (list?.length === 0) this.report('must not be empty');
    return list ?? [];
  }

  /** Reads the entries of an optional list. */
  optionalEntries(): readonly Located[] {
    return this.absent ? [] : (this.list() ?? []);
  }

  /** Reads a mapping and reports every key that is not in `known`; returns null if the value is not a mapping. */
  mapping(known: readonly string[] | 'any'): Mapping | null {
    if (this.absent) {
      this.report('is missing');
      return null;
    }
    if (!isObject(this.value)) {
      this.report('must be a mapping');
      return null;
    }
    const mapping = new Mapping(this, this.value);
    if (known !== 'any') {
      for (const key of mapping.keys()) if (!known.includes(key)) mapping.member(key).report('is not a known member');
    }
    return mapping;
  }

  /** Reads an optional mapping; empty if it is absent. */
  optionalMapping(known: readonly string[] | 'any'): Mapping | null {
    return this.absent ? new Mapping(this, {}) : this.mapping(known);
  }

  at(path: string, value: unknown): Located {
    return new Located(value, this.file, path, this.problems);
  }

  private list(): readonly Located[] | null {
    if (this.absent) {
      this.report('is missing');
      return null;
    }
    if (!Array.isArray(this.value)) {
      this.report('must be a list');
      return null;
    }
    return this.value.map((entry: unknown, index) => this.at(`${this.path}[${index}]`, entry));
  }
}

export class Mapping {
  constructor(
    readonly place: Located,
    private readonly members: Readonly<Record<string, unknown>>,
  ) {}

  keys(): readonly string[] {
    return Object.keys(this.members);
  }

  member(key: string): Located {
    const { path } = this.place;
    return this.place.at(
      path === '' ? key : `${path}.${key}`,
      Object.hasOwn(this.members, key) ? this.members[key] : null,
    );
  }
}

/** Most uses of anchors in one document; more are treated as an attempt to exhaust the memory. */
const MAX_ALIASES = 10_000;

/**
 * Reads one YAML document (1.2, with merge keys) as plain data; returns null and reports a problem if it is invalid.
 */
export function readDocument(file: string, text: string, problems: CatalogueProblem[]): Located | null {
  const report = (message: string) => problems.push({ file, path: '', message });
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, merge: true, prettyErrors: false });
  for (const problem of [...document.errors, ...document.warnings]) {
    const { line, col } = lines.linePos(problem.pos[0]);
    report(`is not valid YAML at line ${line}, column ${col} (${problem.code})`);
  }
  if (document.errors.length > 0) return null;
  try {
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    if (value !== null && value !== undefined) return new Located(value, file, '', problems);
    report('is empty');
  } catch {
    report('cannot be resolved: an alias is unknown, circular or used too often');
  }
  return null;
}
