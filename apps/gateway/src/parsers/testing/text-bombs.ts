/** A page that takes much memory or time. */
export interface HtmlBomb {
  readonly name: string;
  readonly text: string;
  /** Whether nothing of it can be read. */
  readonly isRefused: boolean;
}

/** Returns pages of at most a million characters that exhaust readers without bounds. */
export function htmlBombs(): readonly HtmlBomb[] {
  return [
    {
      name: 'links that are relative to a very long address',
      text: `<base href="https://a.example/${'x'.repeat(500_000)}/">${'<a href=y>z</a>'.repeat(33_000)}`,
      isRefused: true,
    },
    { name: 'elements nested 200,000 deep', text: `<p>before</p>${'<div>'.repeat(200_000)}deep`, isRefused: false },
    { name: 'one element with 30,000 attributes', text: `<p ${attributes(30_000)}>text`, isRefused: false },
  ];
}

function attributes(count: number): string {
  return Array.from({ length: count }, (_, index) => `a${index}=b`).join(' ');
}

/** Returns texts that are no JSON and that a repairing parser spends much memory or time on. */
export function jsonBombs(): readonly { readonly name: string; readonly text: string }[] {
  return [
    { name: 'objects nested 300,000 deep', text: `[${'{'.repeat(300_000)}` },
    { name: 'quotes that never close', text: `{"a": ${'"b" c '.repeat(100_000)}` },
    { name: 'half a million backslashes', text: `{"a": "${'\\\\'.repeat(450_000)}` },
    { name: 'half a million commas', text: `[${'",'.repeat(490_000)}` },
  ];
}
