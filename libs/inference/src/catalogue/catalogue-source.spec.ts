import { mkdtemp, mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CatalogueError, type Catalogue } from './catalogue';
import { CatalogueSource } from './catalogue-source';

function catalogueText(...names: string[]): string {
  const models = names.map(
    (name) => `  - slug: acme/${name}
    name: ${name}
    endpoints: [{ provider: acme, upstream_model: ${name}, apis: [chat], pricing: { prompt: "0", completion: "0" } }]`,
  );
  return `providers: [{ slug: acme, name: Acme, base_url: "http://127.0.0.1:1/v1", protocol: openai }]
models:
${models.join('\n')}`;
}

describe(CatalogueSource.name, () => {
  let folder: string;
  let problems: unknown[];
  let waiting: { isReady: () => boolean; resolve: () => void }[];
  let source: CatalogueSource;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'catalogue-'));
    problems = [];
    waiting = [];
  });

  afterEach(async () => {
    await source.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(path: string, checkEveryMs = 60_000): Promise<void> {
    source = new CatalogueSource(path, {
      protocols: ['openai'],
      onProblem: (problem) => {
        problems.push(problem);
        settle();
      },
      debounceMs: 10,
      checkEveryMs,
    });
    source.onChange(settle);
    await source.start();
  }

  function settle(): void {
    for (const { isReady, resolve } of waiting) if (isReady()) resolve();
  }

  function until(isReady: () => boolean): Promise<void> {
    if (isReady()) return Promise.resolve();
    return new Promise((resolve) => waiting.push({ isReady, resolve }));
  }

  const has = (name: string) => () => source.current().findModel(`acme/${name}`) !== null;

  async function replace(path: string, text: string): Promise<void> {
    await writeFile(`${path}.tmp`, text);
    await rename(`${path}.tmp`, path);
  }

  it('reads all YAML files of a folder in the order of their names, and no others', async () => {
    await writeFile(join(folder, 'b.yml'), catalogueText('b'));
    await writeFile(join(folder, 'a.yaml'), catalogueText('a'));
    await writeFile(join(folder, '.hidden.yaml'), 'broken: [');
    await writeFile(join(folder, 'notes.txt'), 'broken: [');
    await mkdir(join(folder, 'folder.yaml'));
    await start(folder);
    expect(
      source
        .current()
        .models()
        .map(({ slug }) => slug),
    ).toEqual(['acme/a', 'acme/b']);
  });

  it('refuses to start on a broken file, an empty folder and nothing at all', async () => {
    const path = join(folder, 'a.yaml');
    await expect(start(folder)).rejects.toThrow(CatalogueError);
    await expect(start(path)).rejects.toThrow('cannot be read (ENOENT)');
    await writeFile(path, 'models: 5');
    await expect(start(path)).rejects.toThrow('models must be a list');
    expect(() => source.current()).toThrow('was not started');
  });

  it('follows a file that is written in place', async () => {
    const path = join(folder, 'a.yaml');
    await writeFile(path, catalogueText('a'));
    await start(folder);
    await writeFile(path, catalogueText('a', 'b'));
    await until(has('b'));
    expect(source.current().models()).toHaveLength(2);
  });

  it('follows a single file through any number of replacements', async () => {
    const path = join(folder, 'a.yaml');
    await writeFile(path, catalogueText('a'));
    await start(path);
    for (const name of ['b', 'c', 'd']) {
      await replace(path, catalogueText(name));
      await until(has(name));
    }
    expect(problems).toEqual([]);
  });

  it('follows a folder whose files are links to a version that is swapped', async () => {
    await mkdir(join(folder, '..1'));
    await mkdir(join(folder, '..2'));
    await writeFile(join(folder, '..1', 'a.yaml'), catalogueText('a'));
    await writeFile(join(folder, '..2', 'a.yaml'), catalogueText('b'));
    await symlink('..1', join(folder, '..data'));
    await symlink('..data/a.yaml', join(folder, 'a.yaml'));
    await start(join(folder, 'a.yaml'));
    await symlink('..2', join(folder, '..next'));
    await rename(join(folder, '..next'), join(folder, '..data'));
    await until(has('b'));
    expect(has('a')()).toBe(false);
  });

  it('takes up and drops files of a folder', async () => {
    await writeFile(join(folder, 'a.yaml'), catalogueText('a'));
    await start(folder);
    await writeFile(join(folder, 'b.yaml'), catalogueText('b'));
    await until(has('b'));
    await unlink(join(folder, 'a.yaml'));
    await until(() => !has('a')());
    expect(source.current().models()).toHaveLength(1);
  });

  it('keeps the old catalogue while the new one is broken, and says why', async () => {
    const path = join(folder, 'a.yaml');
    await writeFile(path, catalogueText('a'));
    await start(folder);
    const before = source.current();
    await replace(path, 'models: 5');
    await until(() => problems.length > 0);
    expect(problems[0]).toBeInstanceOf(CatalogueError);
    expect(source.current()).toBe(before);
    await replace(path, catalogueText('b'));
    await until(has('b'));
    expect(has('a')()).toBe(false);
  });

  it('finds a folder again that was replaced as a whole', async () => {
    const path = join(folder, 'catalogue');
    await mkdir(path);
    await writeFile(join(path, 'a.yaml'), catalogueText('a'));
    await start(path, 20);
    await mkdir(join(folder, 'next'));
    await writeFile(join(folder, 'next', 'a.yaml'), catalogueText('b'));
    await rename(path, join(folder, 'old'));
    await rename(join(folder, 'next'), path);
    await until(has('b'));
    await writeFile(join(path, 'a.yaml'), catalogueText('c'));
    await until(has('c'));
    expect(source.current().models()).toHaveLength(1);
  });

  it('tells listeners of new content only, and no longer once they left', async () => {
    const path = join(folder, 'a.yaml');
    await writeFile(path, catalogueText('a'));
    await start(path);
    const heard: Catalogue[] = [];
    const leave = source.onChange((catalogue) => heard.push(catalogue));
    await expect(source.reload()).resolves.toBe(true);
    expect(heard).toEqual([]);
    await replace(path, catalogueText('b'));
    await expect(source.reload()).resolves.toBe(true);
    expect(heard).toEqual([source.current()]);
    leave();
    await replace(path, catalogueText('c'));
    await source.reload();
    expect(has('c')()).toBe(true);
    expect(heard).toHaveLength(1);
  });

  it('goes on when a listener throws', async () => {
    const path = join(folder, 'a.yaml');
    await writeFile(path, catalogueText('a'));
    await start(path);
    source.onChange(() => {
      throw new Error('listener');
    });
    const heard: string[] = [];
    source.onChange((catalogue) => heard.push(catalogue.hash));
    await replace(path, catalogueText('b'));
    await source.reload();
    expect(heard).toEqual([source.current().hash]);
    expect(problems).toEqual([new Error('listener')]);
  });

  it('runs many reloads asked for at once as one or two', async () => {
    const path = join(folder, 'a.yaml');
    await writeFile(path, catalogueText('a'));
    await start(path);
    const answers = Array.from({ length: 50 }, () => source.reload());
    expect(new Set(answers).size).toBe(2);
    await expect(Promise.all(answers)).resolves.toEqual(Array.from({ length: 50 }, () => true));
  });

  it('changes nothing after it was closed', async () => {
    const path = join(folder, 'a.yaml');
    await writeFile(path, catalogueText('a'));
    await start(path);
    await source.close();
    await replace(path, catalogueText('b'));
    await expect(source.reload()).resolves.toBe(false);
    expect(has('a')()).toBe(true);
  });
});
