import type { ParseArgsConfig } from 'node:util';
import type { Installation } from './installation';

export type CommandOptions = NonNullable<ParseArgsConfig['options']>;

/** The arguments after the command's words, as `parseArgs` read them; an option given twice keeps its last value. */
export interface CommandArguments {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
}

export interface CommandResult {
  /** Printed with `--json`, as one line. */
  readonly data: unknown;
  /** Printed otherwise. */
  readonly text: string;
  /** Further information for the operator; written to stderr, so that the text can be kept in a file. */
  readonly notes?: readonly string[];
  /** True if the command ran and found something wrong: exit code 1. Such a command sets `looksForFaults`. */
  readonly failed?: boolean;
}

/** One command of the operator. To add one: a file in `commands/` and its line in `commands/index.ts`. */
export interface Command {
  /** Words of the command: `keys create`. */
  readonly name: string;
  readonly summary: string;
  /** What may follow the words: `--name NAME [--management]`. */
  readonly usage: string;
  /** Without `json` and `help`, which every command has. */
  readonly options: CommandOptions;
  /** Names of the positional arguments. All are required. */
  readonly positionals: readonly string[];
  /** Exit code 1 is something that it found; if it could not look, the exit code is 3. */
  readonly looksForFaults?: true;
  run(args: CommandArguments, installation: Installation): Promise<CommandResult>;
}

/** The command line itself is wrong: exit code 2. The message names options, never their values. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function requiredText(args: CommandArguments, option: string): string {
  const text = optionalText(args, option);
  if (text === undefined) throw new UsageError(`--${option} is required`);
  return text;
}

export function optionalText(args: CommandArguments, option: string): string | undefined {
  const value = args.values[option];
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || value === '') throw new UsageError(`--${option} needs a value`);
  return value;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The id of a workspace or organization. */
export function optionalId(args: CommandArguments, option: string): string | undefined {
  const id = optionalText(args, option);
  if (id !== undefined && !UUID.test(id)) throw new UsageError(`--${option} must be an id as the lists show it`);
  return id;
}

export function flag(args: CommandArguments, option: string): boolean {
  return args.values[option] === true;
}

export function positional(args: CommandArguments, index: number): string {
  const value = args.positionals[index];
  if (value === undefined) throw new UsageError('an argument is missing');
  return value;
}
