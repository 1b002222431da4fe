import { createContext, Script } from 'node:vm';
import { Environment, type ASTNode } from '@marcbachmann/cel-js';
import { AppError } from '@libs/errors';
import type { Claims } from './claims';

/**
 * The functions that a condition may call: none takes a regular expression or makes a long value of a short one.
 * `duration` is not among them, because the library reads a text of digits in cubic time.
 */
const FUNCTIONS: ReadonlySet<string> = new Set([
  'has',
  'size',
  'startsWith',
  'endsWith',
  'contains',
  'lowerAscii',
  'upperAscii',
  'trim',
  'string',
  'int',
  'double',
  'bool',
  'timestamp',
  'dyn',
  'type',
]);
/** These evaluate their argument once for each element of a list. */
const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter']);
const VARIABLE = 'claims';

const LIMITS = { maxAstNodes: 200, maxDepth: 20, maxListElements: 64, maxMapEntries: 16, maxCallArguments: 4 };
const MAX_LENGTH = 2_000;

/** Of lists and objects that are written within each other: each form is a type, and the library keeps all types. */
const MAX_NESTING = 3;

/** The longest that a condition takes is some tens of milliseconds, for the largest token. */
const LONGEST_EVALUATION_MS = 250;
/**
 * V8 ends a script after a time, with all that it calls, but not a search in a text. So no function is given a sum of
 * texts, which may be long.
 */
const evaluation = new Script('evaluate()');
const outside = createContext({ evaluate: (): unknown => null });

/**
 * Returns whether verified claims meet a condition; false if its evaluation fails, as for a missing claim, or takes too
 * long.
 */
export type Condition = (claims: Claims) => boolean;

/**
 * Compiles a policy's condition: an expression of the Common Expression Language over `claims`.
 *
 * Policies are programs of callers that run in this process, so the work of an expression is bounded by its size
 * times the size of the claims: it is short and shallow and has no regular expression, and the body of a loop sees
 * only its element and contains no other loop. The number of claims is limited (`readClaims`). Evaluation has a limit of
 * time as well.
 *
 * @throws AppError invalid_request that names `condition`
 */
export function compileCondition(text: string, longestMs = LONGEST_EVALUATION_MS): Condition {
  if (text.length > MAX_LENGTH) throw bad(`must be at most ${MAX_LENGTH} characters long`);
  const parsed = parse(text);
  judge(parsed.ast, { isInLoop: false, mayAdd: true, nesting: 0 });
  const { valid, type, error } = parsed.check();
  if (!valid) throw bad('does not fit together', error);
  if (type !== 'bool' && type !== 'dyn') throw bad('must be true or false');
  return (claims) => {
    try {
      outside.evaluate = () => parsed({ claims });
      return evaluation.runInContext(outside, { timeout: longestMs }) === true;
    } catch {
      // A claim is missing or has another type, or the time is over: the policy does not match.
      return false;
    }
  };
}

/** Returns whether claims meet a stored condition; false for one that this version does not allow. */
export function meetsCondition(text: string, claims: Claims): boolean {
  let condition: Condition;
  try {
    condition = compileCondition(text);
  } catch (thrown) {
    if (thrown instanceof AppError) return false;
    throw thrown;
  }
  return condition(claims);
}

function parse(text: string): ReturnType<Environment['parse']> {
  try {
    return newEnvironment().parse(text);
  } catch (error) {
    throw bad('is no expression of the Common Expression Language, or too large a one', error);
  }
}

/**
 * Returns an environment for one condition. The library keeps every name of a function that it ever looked for, and
 * every pair of types; it does so in the environment only if that has a function and an operator of its own.
 */
function newEnvironment(): Environment {
  return new Environment({ limits: LIMITS })
    .registerVariable(VARIABLE, 'map')
    .registerFunction('unused(bool): bool', () => false)
    .registerOperator('type + type', () => null);
}

/** Where a node is. */
interface Place {
  readonly isInLoop: boolean;
  /** Whether what is added here reaches no function: neither directly nor as an element of a list. */
  readonly mayAdd: boolean;
  /** Of the lists and objects around it. */
  readonly nesting: number;
}

function judge(node: ASTNode, place: Place): void {
  switch (node.op) {
    case 'id':
      if (place.isInLoop && node.args === VARIABLE) throw bad('must see only its element within a loop');
      return;
    case '+':
      if (!place.mayAdd) throw bad('must not add within a function, a list or a loop');
      return judgeAll(node.args, place);
    case 'call':
      judgeFunction(node.args[0]);
      return judgeAll(node.args[1], { ...place, mayAdd: false });
    case 'rcall':
      return judgeMethod(node.args, place);
    case 'list':
    case 'map':
      return judgeAll(node.args, deeper(place));
    default:
      return judgeAll(node.args, place);
  }
}

function deeper(place: Place): Place {
  if (place.nesting === MAX_NESTING) throw bad('has too many lists within lists');
  return { ...place, mayAdd: false, nesting: place.nesting + 1 };
}

function judgeMethod([name, receiver, args]: [string, ASTNode, ASTNode[]], place: Place): void {
  const isLoop = LOOPS.has(name);
  if (isLoop && place.isInLoop) throw bad('must not have a loop within a loop');
  if (!isLoop) judgeFunction(name);
  const within = { ...place, mayAdd: false };
  judge(receiver, within);
  judgeAll(args, { ...within, isInLoop: place.isInLoop || isLoop });
}

function judgeFunction(name: string): void {
  if (!FUNCTIONS.has(name)) throw bad('calls a function that conditions may not call');
}

/** Judges the nodes among what an operator works on: one, a list of them, or pairs. */
function judgeAll(args: unknown, place: Place): void {
  if (Array.isArray(args)) for (const each of args) judgeAll(each, place);
  else if (typeof args === 'object' && args !== null && 'op' in args) judge(args as ASTNode, place);
}

function bad(what: string, cause?: unknown): AppError {
  return new AppError('invalid_request', `condition ${what}`, { cause, metadata: { param: 'condition' } });
}
