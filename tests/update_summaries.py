"""``python -m tests.update_summaries``: write the summaries beside the scenario files anew. Read the difference."""

from tests.scenario_files import FILES, summary_file, summary_text

if __name__ == "__main__":
    for scenario in FILES:
        summary_file(scenario).write_text(summary_text(scenario))
        print(summary_file(scenario))
