import { Environment, type ASTNode } from '@marcbachmann/cel-js';
import { AppError } from '@libs/errors';
import type { Claims } from './claims';

/** What a condition may call: nothing that takes a regular expression, and nothing that makes long things of short ones. */
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
  'duration',
  'dyn',
  'type',
]);
/** These run what they are given once for each element of a list. */
const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter']);
const VARIABLE = 'claims';

const LIMITS = { maxAstNodes: 200, maxDepth: 20, maxListElements: 64, maxMapEntries: 16, maxCallArguments: 4 };
const MAX_LENGTH = 2_000;

const environment = new Environment({ limits: LIMITS }).registerVariable(VARIABLE, 'map');

/** Whether claims that were verified fulfil a condition. An error in it, such as a claim that is not there, does not. */
export type Condition = (claims: Claims) => boolean;

/**
 * A condition of a policy: an expression of the Common Expression Language over `claims`.
 *
 * Whoever may write policies writes programs that run in this process, so no expression is taken whose work is
 * more than its size times that of the claims: it is short and shallow, has no regular expression, and what
 * runs for each element of a list sees that element and no loop within the loop. Claims are few (`readClaims`).
 *
 * @throws AppError invalid_request that names `condition`
 */
export function compileCondition(text: string): Condition {
  if (text.length > MAX_LENGTH) throw bad(`must be at most ${MAX_LENGTH} characters long`);
  const parsed = parse(text);
  judge(parsed.ast, false);
  const { valid, type, error } = parsed.check();
  if (!valid) throw bad('does not fit together', error);
  if (type !== 'bool' && type !== 'dyn') throw bad('must be true or false');
  return (claims) => {
    try {
      return parsed({ claims }) === true;
    } catch {
      // A claim that is not there or has another type: the policy does not match.
      return false;
    }
  };
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
