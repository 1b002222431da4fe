import { badCondition } from './bad-condition';
import {
  kindOf,
  type Comparison,
  type Expression,
  type Kind,
  type Loop,
  type TextChange,
  type TextTest,
} from './expression';
import { tokensOf, type Token } from './lexer';

const MAX_NODES = 200;
const MAX_DEPTH = 20;
const MAX_ITEMS = 64;

const CLAIMS = 'claims';
const COMPARISONS: readonly string[] = ['==', '!=', '<', '<=', '>', '>='] satisfies Comparison[];
const TESTS: readonly string[] = ['startsWith', 'endsWith', 'contains'] satisfies TextTest[];
const CHANGES: readonly string[] = ['lowerAscii', 'upperAscii', 'trim'] satisfies TextChange[];
const LOOPS: readonly string[] = ['all', 'exists', 'exists_one', 'filter'] satisfies Loop[];
const LITERALS: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);
const RESERVED: readonly string[] = [CLAIMS, 'in', 'has', 'size', ...LITERALS.keys()];

/**
 * Parses a condition in the subset of the Common Expression Language that policies need. The cost of an expression is
 * limited by its size: the body of a loop sees only its element, and contains no loop.
 * @throws AppError invalid_request with `condition` and the position
 */
export function parseCondition(text: string): Expression {
  const parser = new Parser(tokensOf(text));
  return parser.whole();
}

class Parser {
  #next = 0;
  #nodes = 0;
  #depth = 0;
  /** The name of the element of the loop that is being read. */
  #element: string | null = null;

  constructor(private readonly tokens: readonly Token[]) {}

  whole(): Expression {
    const condition = this.#or();
    if (this.#token.kind !== 'end') throw this.#unexpected();
    if (!['bool', 'any'].includes(kindOf(condition))) throw badCondition('must be true or false');
    return condition;
  }

  get #token(): Token {
    return this.tokens[this.#next]!;
  }

  #unexpected(): Error {
    const { kind, at } = this.#token;
    return badCondition(kind === 'end' ? 'ends too early' : 'has something else here than expected', at);
  }

  #isSign(text: string): boolean {
    return this.#token.kind === 'sign' && this.#token.text === text;
  }

  #takeSign(text: string): boolean {
    if (!this.#isSign(text)) return false;
    this.#next += 1;
    return true;
  }

  #expectSign(text: string): void {
    if (!this.#takeSign(text)) throw this.#unexpected();
  }

  #takeName(): string | null {
    const token = this.#token;
    if (token.kind !== 'name') return null;
    this.#next += 1;
    return token.text;
  }

  #expectName(): string {
    const name = this.#takeName();
    if (name === null) throw this.#unexpected();
    return name;
  }

  #made<Made extends Expression>(expression: Made): Made {
    this.#nodes += 1;
    if (this.#nodes > MAX_NODES) throw badCondition(`has more than ${MAX_NODES} parts`, this.#token.at);
    return expression;
  }

  #deeper<Read>(read: () => Read): Read {
    if (this.#depth === MAX_DEPTH) throw badCondition(`is more than ${MAX_DEPTH} levels deep`, this.#token.at);
    this.#depth += 1;
    const result = read();
    this.#depth -= 1;
    return result;
  }

  /** Refuses an expression that can never have the needed type. */
  #fits(expression: Expression, ...kinds: readonly Kind[]): Expression {
    const kind = kindOf(expression);
    if (kind !== 'any' && !kinds.includes(kind)) throw badCondition('does not fit together', this.#token.at);
    return expression;
  }

  #or(): Expression {
    let left = this.#and();
    while (this.#takeSign('||')) left = this.#both('or', left, this.#and());
    return left;
  }

  #and(): Expression {
    let left = this.#relation();
    while (this.#takeSign('&&')) left = this.#both('and', left, this.#relation());
    return left;
  }

  #both(op: 'and' | 'or', left: Expression, right: Expression): Expression {
    return this.#made({ op, left: this.#fits(left, 'bool'), right: this.#fits(right, 'bool') });
  }

  #relation(): Expression {
    const left = this.#unary();
    const token = this.#token;
    if (token.kind === 'name' && token.text === 'in') {
      this.#next += 1;
      return this.#made({ op: 'in', left, right: this.#fits(this.#unary(), 'list') });
    }
    if (token.kind !== 'sign' || !COMPARISONS.includes(token.text)) return left;
    this.#next += 1;
    const op = token.text as Comparison;
    const right = this.#unary();
    if (op === '==' || op === '!=') return this.#made({ op, left, right });
    return this.#made({ op, left: this.#fits(left, 'number'), right: this.#fits(right, 'number') });
  }

  #unary(): Expression {
    if (this.#takeSign('!')) {
      return this.#deeper(() => this.#made({ op: 'not', of: this.#fits(this.#unary(), 'bool') }));
    }
    if (!this.#takeSign('-')) return this.#path();
    const token = this.#token;
    if (token.kind !== 'number') throw this.#unexpected();
    this.#next += 1;
    return this.#made({ op: 'literal', value: -token.value });
  }

  /** Parses a value with the fields, indexes and methods after it. */
  #path(): Expression {
    let value = this.#primary();
    for (;;) {
      if (this.#takeSign('.')) value = this.#behindDot(value, this.#expectName());
      else if (this.#takeSign('[')) value = this.#index(value);
      else return value;
    }
  }

  #index(of: Expression): Expression {
    const index = this.#deeper(() => this.#fits(this.#or(), 'text', 'number'));
    this.#expectSign(']');
    return this.#made({ op: 'index', of: this.#fits(of, 'list'), index });
  }

  #behindDot(of: Expression, name: string): Expression {
    if (!this.#takeSign('(')) return this.#made({ op: 'member', of: this.#fits(of), name });
    if (LOOPS.includes(name)) return this.#loop(name as Loop, this.#fits(of, 'list'));
    return this.#deeper(() => this.#method(of, name));
  }

  #method(of: Expression, name: string): Expression {
    if (TESTS.includes(name)) {
      const search = this.#fits(this.#or(), 'text');
      this.#expectSign(')');
      return this.#made({ op: name as TextTest, of: this.#fits(of, 'text'), search });
    }
    if (name !== 'size' && !CHANGES.includes(name)) throw badCondition(`calls ${name}, which conditions do not have`);
    this.#expectSign(')');
    if (name === 'size') return this.#made({ op: name, of: this.#fits(of, 'text', 'list') });
    return this.#made({ op: name as TextChange, of: this.#fits(of, 'text') });
  }

  #loop(op: Loop, over: Expression): Expression {
    if (this.#element !== null) throw badCondition('must not have a loop within a loop', this.#token.at);
    const element = this.#expectName();
    if (RESERVED.includes(element)) throw badCondition('names the element of a loop like something else');
    this.#expectSign(',');
    this.#element = element;
    const body = this.#deeper(() => this.#fits(this.#or(), 'bool'));
    this.#element = null;
    this.#expectSign(')');
    return this.#made({ op, over, body });
  }

  #primary(): Expression {
    const token = this.#token;
    if (token.kind === 'text' || token.kind === 'number') {
      this.#next += 1;
      return this.#made({ op: 'literal', value: token.value });
    }
    if (this.#takeSign('(')) return this.#inParentheses();
    if (this.#takeSign('[')) return this.#list();
    const name = this.#expectName();
    const literal = LITERALS.get(name);
    if (literal !== undefined) return this.#made({ op: 'literal', value: literal });
    return this.#takeSign('(') ? this.#deeper(() => this.#call(name)) : this.#variable(name);
  }

  #inParentheses(): Expression {
    const inner = this.#deeper(() => this.#or());
    this.#expectSign(')');
    return inner;
  }

  #list(): Expression {
    const items: Expression[] = [];
    while (!this.#isSign(']')) {
      if (items.length === MAX_ITEMS) throw badCondition(`has a list of more than ${MAX_ITEMS} items`, this.#token.at);
      items.push(this.#deeper(() => this.#or()));
      if (!this.#isSign(']')) this.#expectSign(',');
    }
    this.#next += 1;
    return this.#made({ op: 'list', items });
  }

  #call(name: string): Expression {
    if (name !== 'has' && name !== 'size') throw badCondition(`calls ${name}, which conditions do not have`);
    const of = this.#or();
    this.#expectSign(')');
    if (name === 'size') return this.#made({ op: name, of: this.#fits(of, 'text', 'list') });
    if (of.op !== 'member') throw badCondition('asks with has for something else than a member');
    return this.#made({ ...of, op: name });
  }

  #variable(name: string): Expression {
    if (name === this.#element) return this.#made({ op: 'element' });
    if (name !== CLAIMS) throw badCondition(`has the unknown name ${name}`);
    if (this.#element !== null) throw badCondition('must see only its element within a loop');
    return this.#made({ op: 'claims' });
  }
}
