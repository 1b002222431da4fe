import { Secret } from '@libs/contracts';
import { readBatchWorkerEnv } from '../../apps/batch-worker/src/batch-worker.env';
import { readGatewayEnv } from '../../apps/gateway/src/gateway.env';
import { commands } from '../../tools/sluice/src/commands';
import { filesLike, inlineCodeOf, readMarkdown, readRepositoryFile, sectionOf, tableRowsOf } from './markdown';

const document = readMarkdown('docs/operations.md');
const textOf = (cell = ''): string => cell.replaceAll('`', '');

const variableNames = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, name = '']) => name);

/** Members of the env classes, and what the sandbox provider reads. */
const declared = filesLike('{apps,libs,tools}/**/*.env.ts').flatMap((path) => {
  const text = readRepositoryFile(path);
  return [
    ...variableNames(text, /^ {2}(?:override )?([A-Z][A-Z0-9_]+)[?:]/gm),
    ...variableNames(text, /\b(SANDBOX_[A-Z_]+)/g),
  ];
});
const example = variableNames(readRepositoryFile('.env.example'), /^#?([A-Z][A-Z0-9_]+)=/gm);

describe('the environment in docs/operations.md', () => {
  const section = sectionOf(document, 'Environment');
  const rows = tableRowsOf(section);
  const named = new Set(inlineCodeOf({ ...document, prose: section }));

  it('has every variable of the env classes in its table', () => {
    const listed = rows.map(([name]) => textOf(name));
    expect(declared.length).toBeGreaterThan(15);
    expect([...new Set(declared)].filter((name) => !listed.includes(name))).toEqual([]);
  });

  it('has every variable of .env.example', () => {
    expect(example.length).toBeGreaterThan(20);
    expect(example.filter((name) => !named.has(name))).toEqual([]);
  });

  it('has no variable that nobody reads and .env.example does not know', () => {
    const known = new Set([...declared, ...example]);
    const variables = [...named].filter((code) => /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(code));
    expect(variables.filter((name) => !known.has(name))).toEqual([]);
  });

  it('gives the defaults that the env classes give', () => {
    const { HEALTH_PORT: _perApp, ...defaults } = { ...readBatchWorkerEnv({}), ...readGatewayEnv({}) };
    const differing = Object.entries(defaults).filter(([name, value]) => {
      const cell = textOf(rows.find(([cells]) => textOf(cells) === name)?.[1]).split(';')[0];
      return cell !== String(value instanceof Secret ? value.reveal() : (value ?? 'none'));
    });
    expect(differing.map(([name]) => name)).toEqual([]);
  });

  it('gives the health port of each app', () => {
    const cell = rows.find(([name]) => textOf(name) === 'HEALTH_PORT')?.[1] ?? '';
    const ports = filesLike('apps/*/src/*.env.ts').map((path) => {
      const port = /HEALTH_PORT: number = ([\d_]+)/.exec(readRepositoryFile(path))?.[1]?.replace('_', '');
      return `${port} ${path.split('/')[1]}`;
    });
    expect(cell.split(', ').toSorted()).toEqual(ports.toSorted());
  });

  it('says that no app reads a variable only where that is so', () => {
    const sentence = /no app reads it: (.+?)\. /.exec(section)?.[1] ?? '';
    const unread = variableNames(sentence, /`([A-Z_0-9]+)`/g);
    expect(unread.length).toBeGreaterThan(0);
    expect(unread.filter((name) => declared.includes(name))).toEqual([]);
  });
});

describe('the command line in docs/operations.md', () => {
  const rows = tableRowsOf(sectionOf(document, 'The command line')).map(([command]) => textOf(command));

  it('has every command, and nothing else', () => {
    const names = rows.map((row) => row.split(' ').slice(0, 2).join(' '));
    expect(names.toSorted()).toEqual(commands.map(({ name }) => name).toSorted());
  });

  it('gives each its positional arguments', () => {
    const missing = commands.flatMap(({ name, positionals }) => {
      const row = rows.find((text) => text.startsWith(name)) ?? '';
      return positionals
        .filter((argument) => !row.split(' ').includes(argument))
        .map((argument) => `${name} ${argument}`);
    });
    expect(missing).toEqual([]);
  });

  it('names no option that its command does not have', () => {
    const wrong = tableRowsOf(sectionOf(document, 'The command line')).flatMap(([command = '', meaning = '']) => {
      const options = Object.keys(commands.find(({ name }) => textOf(command).startsWith(name))?.options ?? {});
      return variableNames(command + meaning, /--([a-z-]+)/g).filter((option) => !options.includes(option));
    });
    expect(wrong).toEqual([]);
  });
});

describe('the metrics in docs/operations.md', () => {
  it('are those of the code', () => {
    const sources = filesLike('{apps,libs}/*/src/**/*.ts').filter((path) => !/spec\.ts$|\/testing\//.test(path));
    const measured = sources.flatMap((path) => variableNames(readRepositoryFile(path), /name: '(sluice_[a-z_]+)'/g));
    const listed = tableRowsOf(sectionOf(document, 'Metrics')).map(([name]) => textOf(name));
    expect(listed.toSorted()).toEqual([...new Set(measured)].toSorted());
  });
});
