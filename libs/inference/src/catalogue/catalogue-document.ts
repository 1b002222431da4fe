import { LineCounter, parseDocument } from 'yaml';
import { isObject } from '@libs/json';
import type { CatalogueProblem } from './catalogue-error';

/** What a scalar must be. `blank` replaces a value that was refused, so that reading can go on. */
export interface Kind<T> {
  readonly expected: string;
  readonly blank: T;
  accepts(value: unknown): value is T;
}

/**
 * A value of a catalogue file together with its place. Reading never throws: what is missing, unknown or
 * of the wrong type is added to one list of problems, and a blank value is returned in its stead.
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

  /** A scalar; without a fallback it must be there. */
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

  /** A list of scalars without repetition and with at least one entry; without a fallback it must be there. */
  scalars<T>(kind: Kind<T>, fallback?: readonly T[]): readonly T[] {
    if (this.absent && fallback !== undefined) return fallback;
    const entries = this.entries();
    const values = new Set(entries.map((entry) => entry.scalar(kind)));
    if (new Set(entries.map(({ value }) => value)).size < entries.length) this.report('must not name anything twice');
    return [...values];
  }

  /** The entries of a list that must be there and not be empty. */
  entries(): readonly Located[] {
    const list = this.list();
    if (list?.length === 0) this.report('must not be empty');
    return list ?? [];
  }

  /** The entries of a list that may be absent. */
  optionalEntries(): readonly Located[] {
    return this.absent ? [] : (this.list() ?? []);
  }

  /** A mapping, with every key that is not among `known` reported; null when it is none. */
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

  /** A mapping that may be absent, then empty. */
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

/** Uses of anchors in one document; more is taken for an attempt to fill the memory. */
const MAX_ALIASES = 10_000;

/** Reads one YAML document (1.2, with merge keys) as plain data; null and a problem for what is none. */
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
