# SPDX-License-Identifier: Apache-2.0
"""Tests that Ansible and facter can read the exports."""
import json
import stat
import unittest

import fleet_case

PLAYBOOK = """
- hosts: localhost
  connection: local
  gather_facts: no
  tasks:
    - setup: {{filter: ansible_local, fact_path: {folder}}}
    - assert:
        that:
          - ansible_local.gpuprobe.schema == 1
          - ansible_local.gpuprobe.gpus[0].arch == "sm_90"
          - "'cuda' in ansible_local.gpuprobe.gpus[0].apis"
          - ansible_local.gpuprobe.best_variant["torch"] is match("cu13")
    - group_by: {{key: "variant_{{{{ ansible_local.gpuprobe.best_variant['torch'] }}}}"}}
- hosts: variant_cu*
  connection: local
  gather_facts: no
  tasks:
    - debug: {{msg: "installs here"}}
"""


@unittest.skipIf(fleet_case.missing("ansible-playbook"), fleet_case.missing("ansible-playbook"))
class Ansible(fleet_case.FleetCase):
    def test_groups_machines_by_what_to_install(self):
        file = self.folder / "gpuprobe.fact"
        self.ctl("export", "ansible", "torch", f"--output={file}")
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o644)
        play = self.write("play.yml", PLAYBOOK.format(folder=self.folder))
        done = self.run_command("ansible-playbook", "-i", "localhost,", play, check=False,
                                environment={"ANSIBLE_LOCAL_TEMP": str(self.folder), "ANSIBLE_NOCOLOR": "1"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("installs here", done.stdout)


@unittest.skipIf(fleet_case.missing("facter"), fleet_case.missing("facter"))
class Facter(fleet_case.FleetCase):
    def test_knows_the_architecture(self):
        self.ctl("export", "facter", f"--output={self.folder}/gpuprobe.json")
        done = self.run_command("facter", f"--external-dir={self.folder}", "--json", "gpuprobe.gpus.0.arch")
        self.assertEqual(json.loads(done.stdout), {"gpuprobe.gpus.0.arch": "sm_90"})


if __name__ == "__main__":
    unittest.main()
