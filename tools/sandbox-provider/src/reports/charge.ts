import { booleanMember, isObject, type JsonObject } from '../http/json-members';
import { SandboxError } from '../http/sandbox-error';

/** Which provider's reports show it: OpenAI's or Anthropic's. */
export type ReportForm = 'openai' | 'anthropic';

export const COUNTS = [
  'requests',
  'uncached_input_tokens',
  'cache_read_input_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'output_tokens',
] as const;

export type Count = (typeof COUNTS)[number];

/** What is charged: counts at their own price, or items with these names. */
export const ITEMS = [...COUNTS.slice(1), 'web_search', 'other'] as const;

export type Item = (typeof ITEMS)[number];

/** What the calls in one sum of a report have in common. */
export interface ChargeCell {
  readonly form: ReportForm;
  readonly isEmbedding: boolean;
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string;
  readonly model: string;
  readonly tier: string;
  readonly isLong: boolean;
  readonly isBatch: boolean;
  /** Id of the key that the reports name; absent for the sandbox's own. */
  readonly key?: string | undefined;
}

/** Counts, and amounts in pico-dollars. */
export interface Charge extends ChargeCell {
  readonly counts: Readonly<Partial<Record<Count, number>>>;
  readonly amounts: Readonly<Partial<Record<Item, bigint>>>;
}

const PICO_DECIMALS = 12;
const AMOUNT = /^(-?)(\d{1,12})(?:\.(\d{1,12}))?$/;

/** Reads a charge that a person gives by the control route. Amounts are in US dollars. */
export function readCharge(value: unknown): Charge {
  if (!isObject(value)) throw new SandboxError(400, "'charges' must hold objects", 'charges');
  const { form, day, model, tier = 'default', key } = value;
  if (form !== 'openai' && form !== 'anthropic') refuse('form', "'openai' or 'anthropic'");
  if (typeof day !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(day)) refuse('day', 'a day such as 2026-11-20');
  return {
    form,
    day,
    model: readText(model, 'model'),
    tier: readText(tier, 'tier'),
    key: key === undefined ? undefined : readText(key, 'key'),
    isEmbedding: booleanMember(value, 'embedding', false),
    isLong: booleanMember(value, 'long', false),
    isBatch: booleanMember(value, 'batch', false),
    counts: readNamed(value, 'counts', COUNTS, readCount),
    amounts: readNamed(value, 'usd', ITEMS, readAmount),
  };
}

/** The decimal text of pico-dollars in dollars, or with `scale` 2 in cents. */
export function decimalOf(amount: bigint, scale = 0): string {
  const decimals = PICO_DECIMALS - scale;
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -decimals)}${fraction === '' ? '' : `.${fraction}`}`;
}

function readNamed<Name extends string, T>(
  value: JsonObject,
  member: string,
  names: readonly Name[],
  read: (found: unknown, name: string) => T,
): Partial<Record<Name, T>> {
  const given = value[member] ?? {};
  if (!isObject(given)) refuse(member, 'an object');
  const known: readonly string[] = names;
  if (Object.keys(given).some((name) => !known.includes(name))) refuse(member, `an object with ${names.join(', ')}`);
  return Object.fromEntries(
    Object.entries(given).map(([name, found]) => [name, read(found, `${member}.${name}`)]),
  ) as Partial<Record<Name, T>>;
}

function readText(found: unknown, name: string): string {
  return typeof found === 'string' ? found : refuse(name, 'a text');
}

function readCount(found: unknown, name: string): number {
  return Number.isSafeInteger(found) && (found as number) >= 0 ? (found as number) : refuse(name, 'a whole number');
}

function readAmount(found: unknown, name: string): bigint {
  const match = typeof found === 'string' ? AMOUNT.exec(found) : null;
  if (match === null) return refuse(name, 'an amount in a text, such as "1.25"');
  const [, sign, whole = '0', fraction = ''] = match;
  const amount = BigInt(whole + fraction.padEnd(PICO_DECIMALS, '0'));
  return sign === '-' ? -amount : amount;
}

function refuse(param: string, allowed: string): never {
  throw new SandboxError(400, `'${param}' must be ${allowed}`, param);
}
