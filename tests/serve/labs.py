#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/labs.py [CASE]...

/v1/labs: laboratory reports as tables and as FHIR, and results by page and by id, against the real
server.
"""
import signal

from people import REPORT, added, fields_for, pages, send_report
from support import Server, case, equal, expect, main, refused, to_json

FHIR = [("Content-Type", "application/fhir+json")]


def observation(date="2025-04-01", value=5.6, **others):
    return {"resourceType": "Observation", "status": "final",
            "code": {"coding": [{"system": "http://loinc.org", "code": "4548-4", "display": "Hemoglobin A1c"}]},
            "effectiveDateTime": date, "valueQuantity": {"value": value, "unit": "%"},
            "referenceRange": [{"text": "4.0 - 5.6"}], **others}


@case
def table_becomes_results_as_they_were_printed():
    with Server() as server:
        report = added(send_report(server, REPORT))
        equal((report["new"], report["duplicates"], report["refused"]), (4, 0, 0))
        labs = {lab["label"]: lab for lab in report["data"]}
        ldl = labs["LDL"]
        equal((ldl["title"], labs["Zonulin"]["title"]), ("LDL cholesterol", None))
        equal((ldl["analyte"], ldl["unit"], ldl["printed"], ldl["range"], ldl["flag"], ldl["date"]),
              ("ldl", "mg/dL", "3.1 mmol/L", "<3.0", "H", "2025-02-01"))
        expect(abs(ldl["value"] - 119.9) < 0.1, "mg/dL", ldl)
        equal((labs["CRP"]["comparator"], labs["CRP"]["value"]), ("<", 0.3))
        equal((labs["Zonulin"]["analyte"], labs["Zonulin"]["range"]), (None, None))
        for lab in report["data"]:
            equal(server.ask("GET", f"/v1/labs/{lab['id']}").json(), lab)


@case
def ids_are_the_results_own():
    with Server() as server:
        ids = {lab["id"] for lab in added(send_report(server, REPORT))["data"]}
        equal(len(ids), 4)
        again = added(send_report(server, REPORT))
        equal((again["new"], again["duplicates"], again["data"]), (0, 4, []))
        server.restart(signal.SIGKILL)
        equal({lab["id"] for lab in pages(server, "/v1/labs", 3)}, ids)
    with Server() as server:
        equal({lab["id"] for lab in added(send_report(server, REPORT))["data"]}, ids, "in another folder")


@case
def list_has_the_newest_first_in_pages():
    with Server() as server:
        lines = [f"2024-{month:02}-{day:02},HbA1c,5.{month % 10},%" for month in range(1, 13) for day in (1, 15)]
        added(send_report(server, "\n".join(["date,test,value,unit", *lines]).encode()))
        for limit in (1, 7, 24, 100):
            labs = pages(server, "/v1/labs", limit)
            equal(len({lab["id"] for lab in labs}), 24, f"pages of {limit}")
            equal([lab["date"] for lab in labs], sorted((lab["date"] for lab in labs), reverse=True))
        for query in ("limit=0", "limit=101", "cursor=x", "cursor=", "cursor=lab_00000000000000000000000000000000"):
            refused(server.ask("GET", f"/v1/labs?{query}"), 400, "invalid_field", query.split("=", 1)[0])
    with Server() as server:
        equal(pages(server, "/v1/labs", 10), [])


@case
def fhir_is_read_whatever_it_is_called():
    with Server() as server:
        lab = added(server.ask("POST", "/v1/labs", FHIR, to_json(observation())))["data"][0]
        equal((lab["analyte"], lab["value"], lab["unit"], lab["range"], lab["date"]),
              ("hba1c", 5.6, "%", "4.0 - 5.6", "2025-04-01"))
        bundle = {"resourceType": "Bundle", "type": "collection",
                  "entry": [{"resource": observation("2025-05-01", 5.5)}, {"resource": observation("2025-06-01", 5.4)}]}
        equal(added(server.ask("POST", "/v1/labs", [("Content-Type", "application/json")], to_json(bundle)))["new"], 2)
        equal(added(server.ask("POST", "/v1/labs", [], b"\n " + to_json(observation("2025-07-01"))))["new"], 1)


@case
def reports_that_say_nothing_are_refused():
    with Server() as server:
        for body, status, code in ((b"", 400, "invalid_file_type"), (b"\0\1", 400, "invalid_file_type"),
                                   (b"a,b\n1,2\n", 400, "invalid_file_type"), (b"{", 400, "invalid_file_type"),
                                   (b"date,test,value,unit\n2025-02-30,LDL,x,mmol/L\n", 422, "unprocessable")):
            answer = send_report(server, body)
            refused(answer, status, code)
            expect(server.data not in answer.json()["error"]["message"], "paths of the server", answer.body)
        part = added(send_report(server, b"date,test,value,unit\n2025-02-01,LDL,3.0,mmol/L\n2025-02-31,LDL,3.0,mmol/L\n"))
        equal((part["new"], part["refused"], part["refusals"][0]["line"]), (1, 1, 3))
        refused(server.ask("POST", "/v1/labs", [("Origin", "http://evil.example"), ("Content-Type", "text/plain")],
                           REPORT), 415, "unsupported_media_type")


@case
def nobody_sees_the_results_of_others():
    with Server(is_open=False) as server:
        ann, bob = fields_for(server, "ann"), fields_for(server, "bob")
        lab = added(send_report(server, REPORT, ann))["data"][0]
        refused(server.ask("GET", f"/v1/labs/{lab['id']}", bob), 404, "lab_not_found")
        equal(pages(server, "/v1/labs", 10, bob), [])
        equal(server.ask("GET", f"/v1/labs/{lab['id']}", ann).json(), lab)
        for name in ("lab_", "x", lab["id"].upper(), lab["id"][:-1], lab["id"] + "0", "m" * 5000):
            refused(server.ask("GET", f"/v1/labs/{name}", ann), 404, "lab_not_found")


@case
def key_makes_one_report_of_many_requests():
    with Server() as server:
        key = [("Idempotency-Key", "k1")]
        first = added(send_report(server, REPORT, key))
        again = send_report(server, REPORT, key)
        equal((added(again), again.field("idempotent-replayed")), (first, "true"))
        refused(send_report(server, REPORT + b"\n", key), 409, "idempotency_key_mismatch")


if __name__ == "__main__":
    main()
