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

const environment = new Environment({ limits: LIMITS }).registerVariable(VARIABLE, 'map');

/** The longest that a condition takes is some tens of milliseconds, for the largest token. */
const LONGEST_EVALUATION_MS = 250;
/** V8 ends a script after a time, with everything that it calls. */
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
  judge(parsed.ast, false);
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

function parse(text: string): ReturnType<typeof environment.parse> {
  try {
    return environment.parse(text);
  } catch (error) {
    throw bad('is no expression of the Common Expression Language, or too large a one', error);
  }
}

function judge(node: ASTNode, isInLoop: boolean): void {
  switch (node.op) {
    case 'id':
      if (isInLoop && node.args === VARIABLE) throw bad('must see only its element within a loop');
      return;
    case 'call':
      judgeFunction(node.args[0]);
      return judgeAll(node.args[1], isInLoop);
    case 'rcall':
      return judgeMethod(node.args, isInLoop);
    default:
      return judgeAll(node.args, isInLoop);
  }
}

function judgeMethod([name, receiver, args]: [string, ASTNode, ASTNode[]], isInLoop: boolean): void {
  const isLoop = LOOPS.has(name);
  if (isLoop && isInLoop) throw bad('must not have a loop within a loop');
  if (!isLoop) judgeFunction(name);
  judge(receiver, isInLoop);
  judgeAll(args, isInLoop || isLoop);
}

function judgeFunction(name: string): void {
  if (!FUNCTIONS.has(name)) throw bad('calls a function that conditions may not call');
}

/** Judges the nodes among what an operator works on: one, a list of them, or pairs. */
function judgeAll(args: unknown, isInLoop: boolean): void {
  if (Array.isArray(args)) for (const each of args) judgeAll(each, isInLoop);
  else if (typeof args === 'object' && args !== null && 'op' in args) judge(args as ASTNode, isInLoop);
}

function bad(what: string, cause?: unknown): AppError {
  return new AppError('invalid_request', `condition ${what}`, { cause, metadata: { param: 'condition' } });
}
