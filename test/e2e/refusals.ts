/** An answer of any client, as far as a refusal is judged by it. */
export interface Refusable {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** What a test puts into values that are refused; no refusal may repeat it. */
export const CANARY = 'canary-8e1d5c';

/** What would say how the inside looks: stacks, files, SQL, addresses. */
const INSIDES = [
  /\bat [\w.<>]+ \(/,
  /node_modules|\/dist\/|\.js:\d|\.ts:\d/,
  /\b(?:SELECT|INSERT|UPDATE|DELETE) .*\b(?:FROM|INTO|SET)\b|violates|relation "|duplicate key|syntax error/i,
  /127\.0\.0\.1|localhost|postgres:|amqp:|redis:/,
  /\bsk-[a-z0-9-]+-v1-/,
];

/** What a text reveals of the inside; null where it reveals nothing. */
export function findInsides(text: string): string | null {
  return INSIDES.find((inside) => inside.test(text))?.source ?? null;
}

/** Judges an answer by the standard envelope: its status, its shape and what it must not say. */
export function expectRefusal(
  answer: Refusable & { readonly body: unknown },
  status: number,
  secrets: readonly string[] = [],
): void {
  const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
  expect({ status: answer.status, text }).toMatchObject({ status });
  expect(String(answer.headers['content-type'])).toMatch(/^application\/json\b/);
  const envelope = JSON.parse(text) as { error: { code: unknown; message: unknown; metadata?: unknown } };
  expect(Object.keys(envelope)).toEqual(['error']);
  const members = ['code', 'message', 'metadata', 'availability'];
  expect(Object.keys(envelope.error).filter((name) => !members.includes(name))).toEqual([]);
  expect(envelope.error.code).toBe(status);
  expect(envelope.error.message).toEqual(expect.stringMatching(/^.{3,300}$/));
  for (const secret of [CANARY, ...secrets]) expect(text).not.toContain(secret);
  expect(findInsides(text)).toBeNull();
}
