import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const root = resolve(__dirname, '../..');

export interface MarkdownFile {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
  /** Without fenced blocks. */
  readonly prose: string;
}

export interface Fence {
  readonly language: string;
  readonly text: string;
}

const FENCE = /^( *)```(\w*)\n([\s\S]*?)^\1```$/gm;

export function readRepositoryFile(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

export function readMarkdown(path: string): MarkdownFile {
  const text = readRepositoryFile(path);
  return { path, text, prose: text.replace(FENCE, '') };
}

/** Every document of the repository. */
export function allDocuments(): MarkdownFile[] {
  const paths = globSync(['*.md', 'docs/**/*.md', '{tools,bench,k8s,catalog}/**/*.md'], { cwd: root });
  return paths.toSorted().map(readMarkdown);
}

/** Files that match, from the root of the repository. */
export function filesLike(...patterns: string[]): string[] {
  return globSync(patterns, { cwd: root }).toSorted();
}

export function fencesOf({ text }: MarkdownFile): Fence[] {
  return [...text.matchAll(FENCE)].map(([, , language = '', body = '']) => ({ language, text: body }));
}

export function inlineCodeOf({ prose }: MarkdownFile): string[] {
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
}

/** Targets of links, without titles; images too. */
export function linksOf({ prose }: MarkdownFile): string[] {
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
}

/** The anchors that headings make. */
export function anchorsOf({ prose }: MarkdownFile): Set<string> {
  const headings = [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}

export function headingsOf({ prose }: MarkdownFile, level: number): string[] {
  const marks = '#'.repeat(level);
  return [...prose.matchAll(new RegExp(`^${marks} (.+)$`, 'gm'))].map(([, heading = '']) => heading);
}

/** The text under a heading, up to the next one of its level. */
export function sectionOf({ path, prose }: MarkdownFile, heading: string): string {
  const section = prose.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`${path} has no section ${heading}`);
  return section;
}

/** The cells of every table row, without rules and heads. */
export function tableRowsOf(text: string): string[][] {
  const tables = [...text.matchAll(/(?:^\|.*\|\n?)+/gm)].map(([table]) => table.trim().split('\n').slice(2));
  return tables.flat().map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}
