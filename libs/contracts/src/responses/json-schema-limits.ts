import { isPlainObject } from '../validation/well-formed';

const LARGEST_SCHEMA_CHARACTERS = 512 * 1024;
type Fields = Record<string, unknown>;

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

/** Checks a JSON Schema that an upstream will be asked to follow: its kind and its size. */
export function findSchemaProblem(schema: unknown): string | null {
  return findKindProblem(schema) ?? new SchemaWalk(schema as Fields).problem(true);
}

/** Checks the parameters of a function: a schema, and one that ends, since every provider must be able to unfold it. */
export function findParametersProblem(parameters: unknown): string | null {
  return findKindProblem(parameters) ?? new SchemaWalk(parameters as Fields).problem(false);
}

function findKindProblem(schema: unknown): string | null {
  if (!isPlainObject(schema)) return ' must be an object';
  const { type } = schema;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  const isKnown = type === undefined || types.every((name) => TYPES.includes(name as string));
  return isKnown ? null : `.type must be one of ${TYPES.join(', ')}`;
}

/** One pass over a schema that follows every reference once. */
class SchemaWalk {
  #isRecursive = false;
  #characters = 0;
  /** References that are being followed (true) or have been (false). */
  readonly #references = new Map<string, boolean>([['#', true]]);

  constructor(private readonly root: Fields) {}

  problem(mayBeRecursive: boolean): string | null {
    this.#visit(this.root);
    if (this.#isTooLarge) return ` must not be larger than ${LARGEST_SCHEMA_CHARACTERS} characters`;
    return this.#isRecursive && !mayBeRecursive ? ' must not refer to itself' : null;
  }

  get #isTooLarge(): boolean {
    return this.#characters > LARGEST_SCHEMA_CHARACTERS;
  }

  #visit(value: unknown): void {
    if (this.#isTooLarge) return;
    this.#characters += typeof value === 'string' ? value.length + 2 : 1;
    if (Array.isArray(value)) {
      for (const entry of value) this.#visit(entry);
    } else if (isPlainObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        this.#characters += name.length + 3;
        if (name === '$ref' && typeof member === 'string') this.#follow(member);
        else this.#visit(member);
      }
    }
  }

  #follow(reference: string): void {
    if (!reference.startsWith('#')) return;
    const isOpen = this.#references.get(reference);
    if (isOpen === true) this.#isRecursive = true;
    if (isOpen !== undefined) return;
    this.#references.set(reference, true);
    this.#visit(this.#resolve(reference));
    this.#references.set(reference, false);
  }

  #resolve(reference: string): unknown {
    let value: unknown = this.root;
    for (const step of reference.slice(2).split('/')) {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
      value = isPlainObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    }
    return value;
  }
}
