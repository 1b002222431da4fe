import { parseArgs } from 'node:util';
import { AppError } from '@libs/errors';
import { EnvError } from '@libs/platform';
import { UsageError, type Command, type CommandArguments } from './command';
import type { Installation } from './installation';

/** `failure`: refused, or something is wrong. `unable`: a command that looks for faults could not look. */
export const EXIT = { ok: 0, failure: 1, usage: 2, unable: 3 } as const;

export interface Output {
  print(text: string): void;
  complain(text: string): void;
}

/** Runs one command line and returns the exit code of the process. */
export async function run(
  argv: readonly string[],
  commands: readonly Command[],
  installation: Installation,
  output: Output,
): Promise<number> {
  const asJson = argv.includes('--json');
  try {
    const asked = argv.filter((word) => word !== '--json');
    const command = commandOf(asked, commands);
    if (!command) return listCommands(asked, commands, output);
    if (asked.includes('--help')) {
      output.print(`${command.summary}\n\n  sluice ${command.name} ${command.usage} [--json]`);
      return EXIT.ok;
    }
    const result = await command.run(readArguments(command, asked.slice(2)), installation);
    output.print(asJson ? JSON.stringify(result.data) : result.text);
    if (!asJson) for (const note of result.notes ?? []) output.complain(note);
    return result.failed ? EXIT.failure : EXIT.ok;
  } catch (error) {
    return complain(error, asJson, output) ? EXIT.usage : failureOf(argv, commands);
  }
}

/** Returns the exit code of a command line that could not be run. */
export function failureOf(argv: readonly string[], commands: readonly Command[]): number {
  const asked = argv.filter((word) => word !== '--json');
  return commandOf(asked, commands)?.looksForFaults === true ? EXIT.unable : EXIT.failure;
}

function commandOf(asked: readonly string[], commands: readonly Command[]): Command | undefined {
  return commands.find(({ name }) => name === asked.slice(0, 2).join(' '));
}

function listCommands(asked: readonly string[], commands: readonly Command[], output: Output): number {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const list = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join('\n');
  const text = `sluice COMMAND [options] [--json]\n\n${list}\n\nsluice COMMAND --help shows the options of a command.`;
  if (asked[0] === '--help' || asked[0] === 'help') {
    output.print(text);
    return EXIT.ok;
  }
  output.complain(asked.length === 0 ? text : `There is no such command.\n\n${text}`);
  return EXIT.usage;
}

function readArguments(command: Command, words: readonly string[]): CommandArguments {
  const { values, positionals } = parse(command, words);
  const expected = command.positionals;
  if (positionals.length < expected.length) {
    throw new UsageError(`${expected.slice(positionals.length).join(' and ')} must be given: ${usageOf(command)}`);
  }
  if (positionals.length > expected.length) throw new UsageError(`too many arguments: ${usageOf(command)}`);
  return { values: values as CommandArguments['values'], positionals };
}

function parse(command: Command, words: readonly string[]): ReturnType<typeof parseArgs> {
  try {
    return parseArgs({ args: [...words], options: command.options, allowPositionals: true, strict: true });
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code !== 'string' || !code.startsWith('ERR_PARSE_ARGS_')) throw error;
    throw new UsageError(`the options cannot be read: ${usageOf(command)}`);
  }
}

function usageOf(command: Command): string {
  return `sluice ${command.name} ${command.usage}`;
}

/** Prints what is wrong. Returns whether the command line itself is wrong. */
function complain(error: unknown, asJson: boolean, output: Output): boolean {
  const isUsage = error instanceof UsageError;
  const { code, message } = isUsage ? { code: 'usage', message: error.message } : describe(error);
  output.complain(asJson ? JSON.stringify({ error: { code, message } }) : message);
  return isUsage;
}

/** Includes `internal`, because the operator's terminal serves as the log of this process. */
function describe(error: unknown): { code: string; message: string } {
  if (error instanceof EnvError) return { code: 'environment', message: error.message };
  const { code, message, internal } = AppError.from(error);
  return { code, message: internal === undefined ? message : `${message}: ${internal}` };
}
