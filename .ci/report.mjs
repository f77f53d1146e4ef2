/**
 * node .ci/report.mjs REPORT.json …: says what failed in vitest's reports, and last of all counts the tests.
 * What failed comes here again, since a log is often read from its end.
 */
import { readFileSync } from 'node:fs';

const reports = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, 'utf8')));
const sum = (field) => reports.reduce((total, report) => total + report[field], 0);

const files = reports.flatMap((report) => report.testResults);
/** What could not be loaded has a message, and no test of it ran. */
const broken = files.filter(({ status, message }) => status === 'failed' && message);

for (const { name, message } of broken) console.log(`FAILED ${name}\n${message}`);
for (const file of files) {
  for (const test of file.assertionResults) {
    if (test.status === 'failed')
      console.log(`FAILED ${file.name}: ${test.fullName}\n${test.failureMessages.join('\n')}`);
  }
}
const failed = sum('numFailedTests') + broken.length;
if (failed > 0 || reports.some((report) => report.numPassedTests === 0)) process.exitCode = 1;
console.log(`${sum('numPassedTests')} passed, ${failed} failed`);
