import { hash } from 'node:crypto';
import { html, type Html } from './html';
import { STYLE } from './style';

/** A page before it is sent. */
export interface Page {
  readonly status: number;
  readonly title: string;
  readonly content: Html;
  /** Origin of the app, to which a form may redirect in addition to this site. */
  readonly leadsTo?: string;
}

const STYLE_HASH = hash('sha256', STYLE, 'base64');

/** The whole document. */
export function documentOf({ title, content }: Page, serviceName: string): string {
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · ${serviceName}</title>
<style>`;
  const body = html`</style>
</head>
<body>
<main>
<p class="service">${serviceName}</p>
${content}
</main>
</body>
</html>
`;
  return document.markup + STYLE + body.markup;
}

/**
 * Returns headers for a page without scripts and external content, which no site may frame, and whose forms lead to
 * this site or, by a redirect, to the app.
 */
export function pageHeaders({ leadsTo }: Pick<Page, 'leadsTo'>): Record<string, string> {
  const policy = [
    `default-src 'none'`,
    `style-src 'sha256-${STYLE_HASH}'`,
    `form-action 'self'${leadsTo === undefined ? '' : ` ${leadsTo}`}`,
    `frame-ancestors 'none'`,
    `base-uri 'none'`,
  ];
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
  };
}
