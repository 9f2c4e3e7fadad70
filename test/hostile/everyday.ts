/** Creates a typical small project: a history, a linked worktree, tools, settings without secrets. */
export const PROJECT = String.raw`
rm -rf .git .env certs deploy run evil docs src data.json notes.txt; git init -q -b main
mkdir -p src/tools test docs
printf '# Project\n\nA sandbox for permission tests.\nfoo and bar\nline 5\n1\n2\n3\n4\n5\n6\n7\n' > README.md
printf '# Changelog\n\n- first\n' > CHANGELOG.md
printf '{\n  "name": "project",\n  "version": "1.2.3",\n  "scripts": { "test": "node test/a.test.js", "run": "true" }\n}\n' > package.json
printf '{\n  "compilerOptions": { "strict": true }\n}\n' > tsconfig.json
printf '# comment\nnode_modules\nbuild\n' > .gitignore
printf 'save-exact=true\nfund=false\n' > .npmrc
printf '# EditorConfig\nroot = true\n' > .editorconfig
printf 'import { run } from "./tools/run.ts";\n// TODO: more\nexport const a = run;\n' > src/index.ts
printf 'import { spawn } from "node:child_process";\nexport const run = () => spawn("ls");\n' > src/tools/run.ts
printf 'export const read = (x: string) => a.b(x);\n' > src/tools/read.ts
printf 'console.log("test passed");\n' > test/a.test.js
printf 'Permission and sandbox.\n' > docs/guide.md
git add -A; git commit -qm 'first: add all'; git tag v1.0.0
for i in 1 2 3 4; do echo "- change $i" >> CHANGELOG.md; echo "export const v$i = $i;" >> src/tools/read.ts; git commit -qam "fix: change $i"; done
git branch other HEAD~2; git remote add origin https://example.com/project.git
echo '// more' >> src/index.ts; git stash -q; echo 'export const b = 2;' >> src/index.ts; echo staged >> docs/guide.md; git add docs/guide.md
echo new > untracked.txt; mkdir -p node_modules/x; echo '{"name":"x","version":"1.0.0"}' > node_modules/x/package.json
git worktree add -q ../ws-linked other 2> /dev/null || true; git worktree prune; git status > /dev/null`;

const list = (program: string, text: string): readonly string[] =>
  text.split(' ~ ').map((args) => (args === '.' ? program : `${program} ${args}`));

/** Everyday commands that only read: none may ask in any mode, and all have to work. */
export const LOOKING: readonly string[] = [
  ...list('ls', '. ~ -la ~ -lah src ~ -R test ~ src/*.ts ~ -1 ~ -A ~ -d src ~ -lt src ~ --color=never src'),
  ...list('tail', '-5 package.json ~ -n +10 README.md ~ -n 2 README.md ~ -c 20 README.md'),
  ...list('head', '-20 README.md ~ -n 3 README.md ~ -c 10 README.md'),
  ...list(
    'cat',
    'package.json ~ README.md CHANGELOG.md ~ -n src/index.ts ~ .gitignore ~ .npmrc ~ .editorconfig',
  ),
  ...list('wc', '-l src/tools/*.ts ~ -c README.md ~ -w README.md'),
  ...list(
    'awk',
    `'{print $1}' README.md ~ -F: '{print $2}' package.json ~ 'NR==2' README.md ~ 'END{print NR}' README.md`,
  ),
  ...list('cut', '-d: -f1 package.json ~ -c1-80 README.md'),
  ...list('sort', 'package.json ~ -u package.json ~ -r README.md ~ -n README.md'),
  ...list(
    'grep',
    `-rn TODO src ~ -c test package.json ~ -i sandbox README.md ~ -E 'foo|bar' -r src README.md ~ -l import src/tools/*.ts ~ -rn --include='*.ts' spawn src ~ -v '^#' .gitignore ~ -w run package.json ~ -n version package.json ~ -A 2 TODO src/index.ts ~ -o spawn src/tools/run.ts ~ -rl spawn src ~ -q foo README.md ~ -rn spawn . --include=*.ts --exclude-dir=node_modules`,
  ),
  ...list(
    'rg',
    `TODO src ~ -n "spawn\\(" src ~ -l sandbox ~ -i permission docs ~ --files src ~ -c import src/tools ~ -F 'a.b(' src ~ -g '!test' sandbox docs ~ --version ~ -n TODO`,
  ),
  ...list(
    'find',
    `. -name '*.ts' ~ src -type f ~ . -maxdepth 1 ~ . -size +100k ~ . -mtime -1 ~ . -empty ~ . -name node_modules -prune -o -name '*.ts' -print ~ src -type d`,
  ),
  ...list('diff', 'README.md CHANGELOG.md ~ -q README.md CHANGELOG.md ~ -u README.md CHANGELOG.md'),
  ...list('stat', '-c %s README.md ~ -c %n package.json'),
  ...list('du', '-sh . ~ -sh src test ~ -h --max-depth=1 src'),
  ...list('echo', 'hello ~ "$PWD" ~ one two ~ -n x'),
  ...list('date', '. ~ +%Y-%m-%d ~ -u'),
  ...list('uname', '-a ~ -s'),
  ...list('which', 'node ~ git npm'),
  ...list(
    'jq',
    '. package.json ~ .scripts package.json ~ -r .version package.json ~ --version ~ -c . package.json ~ "keys" package.json',
  ),
  ...list('git status', '. ~ --short ~ -sb ~ --porcelain ~ src'),
  ...list(
    'git diff',
    '. ~ --stat ~ --cached ~ --staged --stat ~ HEAD ~ HEAD~1 ~ HEAD~3 HEAD -- src ~ --name-only HEAD~1 ~ --name-status HEAD~2 ~ main..other ~ -- src/index.ts ~ -U0 ~ --numstat HEAD~1 ~ -w',
  ),
  ...list(
    'git log',
    '. ~ --oneline ~ --oneline -10 ~ -5 ~ -p -2 ~ --stat -3 ~ --oneline --graph --all ~ --grep=fix ~ -S spawn --oneline ~ --follow README.md ~ -1 --pretty=%B ~ --oneline main..other ~ --format="%h %an %s" -3 ~ -- src ~ --since=2020-01-01 --oneline ~ --author=Ada --oneline ~ -n 2 --name-only',
  ),
  ...list('git show', '. ~ HEAD ~ HEAD~1 --stat ~ HEAD:README.md ~ --name-only HEAD ~ v1.0.0 --stat'),
  ...list('git blame', 'README.md ~ -L 1,10 README.md'),
  ...list('git branch', '. ~ -a ~ -vv ~ --show-current'),
  ...list('git tag', ". ~ -l 'v*'"),
  ...list('git remote', '. ~ -v ~ get-url origin'),
  ...list('git ls-files', '. ~ src ~ -m'),
  ...list('git rev-parse', 'HEAD ~ --short HEAD ~ --abbrev-ref HEAD ~ --show-toplevel'),
  ...list('git reflog', '. ~ -5'),
  ...list('git cat-file', '-p HEAD ~ -t HEAD'),
  ...list(
    'git',
    '--version ~ --no-pager log -3 ~ -C src status ~ stash list ~ ls-tree -r HEAD --name-only ~ rev-list --count HEAD ~ shortlog -sn HEAD ~ grep spawn ~ merge-base HEAD HEAD~1 ~ show-ref ~ check-ignore node_modules ~ worktree list ~ describe --tags ~ for-each-ref',
  ),
  ...list('node', '--version ~ -v'),
  ...list('npm', '--version ~ -v'),
  ...'pwd ~ nl -ba tsconfig.json ~ sed -n 5p README.md ~ cmp README.md CHANGELOG.md ~ file README.md ~ df -h . ~ realpath README.md ~ md5sum README.md ~ sha256sum package.json ~ whoami ~ id ~ nproc ~ uptime ~ command -v node ~ type ls ~ test -f README.md ~ true ~ seq 1 5 ~ expr 1 + 2 ~ rev README.md ~ fold -w 80 README.md ~ python3 --version ~ gcc --version ~ make --version ~ basename src/index.ts ~ dirname src/index.ts ~ tr a-z A-Z < README.md ~ comm README.md CHANGELOG.md ~ uniq README.md ~ column -t README.md ~ false ~ cat nothing.txt ~ ls nowhere'.split(
    ' ~ ',
  ),
  "printf '%s\\n' hi",
  'ls -lt | head -5',
  "sed -n '1,5p;10p' README.md",
  "tr -d '\\r' < README.md",
  "find src -name '*.ts' | wc -l",
  "find src -name '*.ts' | head -5",
  'test -d src && echo yes',
  '[ -f package.json ] && echo found',
  'tac README.md | head -3',
  'cd src && ls',
  'cd src/tools && pwd',
  'cd src && grep -rn spawn .',
  'cd test && ls | wc -l',
  '(cd src && ls)',
  'ls src && ls test',
  'ls; pwd',
  'cat package.json | grep version',
  'ls | grep md',
  "ls -la | awk '{print $9}'",
  'cat < README.md',
  'ls 2>&1 | head',
  'git diff | head -50',
  'git log --oneline | head -5',
  'git status && git diff --stat',
  'cd src && git status',
  'git log --oneline -3 && git status --short',
  'cat src/index.ts; cat src/tools/run.ts',
  'ls nowhere 2>/dev/null || echo none',
  'grep -rn "export const" src | sort | uniq -c | sort -rn | head -3',
  'git show HEAD --stat | tail -3',
  'LC_ALL=C sort README.md',
  'NO_COLOR=1 git status',
  'timeout 10 git log --oneline -1',
];

/** Commands whose output differs each time or contains the location: only the exit code is compared. */
export const CHANGING =
  /^(?:date|uptime|df|du|ls -la|ls -lah|ls -lt|id|whoami|uname|git status|git worktree|nproc|npm|find \. |ls -lt|python3|stat)/;

/** Commands that change files of the workspace: in the sandbox they need no approval and work as outside. */
export const WORKING: readonly string[] = [
  'mkdir -p build/deep/er',
  'touch build/a.txt',
  'echo hello > build/b.txt',
  'cat build/b.txt >> build/a.txt',
  'cp build/b.txt build/c.txt',
  'cp -r src build/src',
  'mv build/c.txt build/d.txt',
  'rm build/d.txt',
  'rm -rf build/src',
  'ln -s a.txt build/link && cat build/link',
  'chmod +x build/a.txt && ls build',
  "sed -i 's/hello/bye/' build/a.txt && cat build/a.txt",
  "printf 'one\\ntwo\\n' | tee build/t.txt",
  'sort -o build/t.txt build/t.txt && cat build/t.txt',
  'for i in 1 2 3; do echo $i > build/n$i.txt; done; ls build',
  'x=$(ls src | wc -l); echo "$x files"',
  'if [ -d build ]; then echo there; fi',
  'find build -name "n*.txt" -delete; ls build',
  'find src -name "*.ts" -exec wc -l {} +',
  'ls src | xargs -n1 echo',
  'tar czf build/x.tgz src && tar tzf build/x.tgz',
  'gzip -k build/b.txt && zcat build/b.txt.gz',
  'truncate -s 10 build/z && stat -c %s build/z',
  'dd if=/dev/zero of=build/zero bs=10 count=2 2>/dev/null; wc -c build/zero',
  'split -l 1 build/t.txt build/part && ls build/part*',
  'mktemp -d > /dev/null && echo made',
  'echo x > /tmp/scratch && cat /tmp/scratch && rm /tmp/scratch',
  'node -e "console.log(1 + 1)"',
  'node test/a.test.js',
  'npm test --silent',
  'npm run run --silent',
  "node -e \"require('fs').writeFileSync('build/node.txt', 'x')\" && cat build/node.txt",
  'python3 -c "print(6 * 7)"',
  "python3 -c \"open('build/py.txt', 'w').write('x')\" && cat build/py.txt",
  "printf 'int main(void) { return 0; }\\n' > build/m.c && gcc -o build/m build/m.c && build/m && echo ran",
  "printf 'all:\\n\\techo made\\n' > build/Makefile && make -s -C build",
  "printf '#!/bin/sh\\necho script\\n' > build/s.sh && sh build/s.sh",
  'bash -c "cd build && pwd | xargs basename"',
  'diff <(ls src) <(ls src) && echo same',
  'sleep 0.1 & wait; echo waited',
  'env | grep -c PATH',
  'awk \'{ print > "build/awk.txt" }\' README.md && wc -l build/awk.txt',
  'perl -e "print 3"',
  'export A=1; echo $A',
  'git log --oneline -1 > build/log.txt && cat build/log.txt',
  'git diff > build/change.patch; wc -l build/change.patch',
  'rm -rf build',
];
