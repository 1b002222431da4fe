import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import {
  allDocuments,
  anchorsOf,
  fencesOf,
  filesLike,
  inlineCodeOf,
  linksOf,
  readMarkdown,
  readRepositoryFile,
  root,
  type MarkdownFile,
} from './markdown';

const FOLDERS = /^(?:apps|libs|tools|scripts|bench|test|catalog|k8s|docs|\.ci)(?:\/|$)/;
const FILE_OF_THE_ROOT = /^\.?[\w.-]+\.(?:json|cjs|yml|md)$|^(?:Dockerfile|LICENSE|\.npmrc|\.env\.example)$/;
/** A path with a part that the reader fills in, or with a wildcard. */
const PATTERN = /[<*…]|NNNN|NAME/;
const CLASS_NAME = /^[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+$/;

const documents = allDocuments();

function brokenLinksOf(document: MarkdownFile): string[] {
  return linksOf(document).filter((link) => {
    if (/^https?:/.test(link)) return false;
    const [target = '', anchor] = link.split('#');
    const path = target === '' ? document.path : relative(root, join(root, dirname(document.path), target));
    if (!existsSync(join(root, path))) return true;
    return anchor !== undefined && !anchorsOf(readMarkdown(path)).has(anchor);
  });
}

function missingFilesOf(document: MarkdownFile): string[] {
  return inlineCodeOf(document).filter((code) => {
    if (PATTERN.test(code) || code.includes(' ')) return false;
    const isPath = FOLDERS.test(code) || FILE_OF_THE_ROOT.test(code);
    return isPath && !existsSync(join(root, code)) && !existsSync(join(root, dirname(document.path), code));
  });
}

function npmScriptsIn(text: string): string[] {
  const named = [...text.matchAll(/\bnpm run ([a-z][\w:-]*)/g)].map(([, script = '']) => script);
  return /\bnpm test\b/.test(text) ? [...named, 'test'] : named;
}

describe('the documents', () => {
  it('are found', () => {
    const paths = documents.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['README.md', 'docs/architecture.md', 'SECURITY.md']));
    expect(paths.length).toBeGreaterThanOrEqual(20);
  });

  it.each(documents)('link to what exists: $path', (document) => {
    expect(brokenLinksOf(document)).toEqual([]);
  });

  it.each(documents)('name files that exist: $path', (document) => {
    expect(missingFilesOf(document)).toEqual([]);
  });

  it.each(documents)('name npm scripts that exist: $path', ({ text }) => {
    const { scripts } = JSON.parse(readRepositoryFile('package.json')) as { scripts: Record<string, string> };
    expect(npmScriptsIn(text).filter((script) => !Object.hasOwn(scripts, script))).toEqual([]);
  });

  it('name classes that the code has', () => {
    const sources = filesLike('{apps,libs,tools}/**/src/**/*.ts').map(readRepositoryFile).join('\n');
    const declared = new Set(
      [...sources.matchAll(/\b(?:class|interface|type|const|extends) ([A-Z]\w+)/g)].map(([, name = '']) => name),
    );
    const named = documents.flatMap((document) => inlineCodeOf(document).filter((code) => CLASS_NAME.test(code)));
    expect(named.length).toBeGreaterThan(10);
    expect([...new Set(named)].filter((name) => !declared.has(name))).toEqual([]);
  });

  it('are reached from the README', () => {
    const reached = new Set<string>();
    const follow = (path: string): void => {
      if (reached.has(path)) return;
      reached.add(path);
      for (const link of linksOf(readMarkdown(path))) {
        const target = relative(root, join(root, dirname(path), link.split('#')[0] ?? ''));
        if (target.endsWith('.md') && existsSync(join(root, target))) follow(target);
      }
    };
    follow('README.md');
    const decisions = linksOf(readMarkdown('README.md')).includes('docs/adr') ? filesLike('docs/adr/*.md') : [];
    const alone = documents.map(({ path }) => path).filter((path) => !reached.has(path) && !decisions.includes(path));
    expect(alone).toEqual([]);
  });
});

describe('the README', () => {
  const readme = readMarkdown('README.md');

  it('fits on one screen', () => {
    expect(readme.text.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
  });

  it('asks for a route that exists, with a model of the sandbox', () => {
    const [curl = ''] = fencesOf(readme)
      .map(({ text }) => text)
      .filter((text) => text.includes('curl '));
    const body = JSON.parse(/-d '([^']+)'/.exec(curl)?.[1] ?? '') as { model: string; messages: unknown[] };
    expect(curl).toContain('http://127.0.0.1:8080/api/v1/chat/completions');
    expect(readRepositoryFile('apps/gateway/src/http/paths.ts')).toContain(`'/api/v1'`);
    expect(readRepositoryFile('apps/gateway/src/inference/chat-completions.controller.ts')).toContain(
      `@Controller('chat/completions')`,
    );
    expect(readRepositoryFile('catalog/sandbox.yaml')).toContain(`slug: ${body.model}\n`);
    expect(body.messages).toHaveLength(1);
  });

  it('names every app', () => {
    const apps = filesLike('apps/*/src').map((path) => `(${path})`);
    expect(apps.length).toBeGreaterThan(0);
    expect(apps.filter((link) => !readme.text.includes(link))).toEqual([]);
  });
});
